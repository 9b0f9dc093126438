-- The legs of an entry balance in the statement that writes them, and not only in its commit: a rule
-- that is stricter, and that one look at all the new rows can check instead of one for every leg.
DROP TRIGGER postings_balance ON postings;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION semel_postings_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A plan made for an empty table must not read all entries, or all of a merchant, later: so this is
  -- a sub-select and not a join, and only the id is left to find its row by.
  PERFORM 1
    FROM (
      SELECT merchant_id, entry_id, min(currency) AS least, max(currency) AS most,
        sum(CASE direction WHEN 'DEBIT' THEN amount_minor ELSE -amount_minor END) AS balance
      FROM legs GROUP BY merchant_id, entry_id) l
   WHERE l.balance <> 0 OR l.least <> l.most OR l.least <> (
      SELECT e.currency FROM journal_entries e
      WHERE e.id = l.entry_id AND (e.merchant_id = l.merchant_id) IS TRUE);
  IF FOUND THEN
    RAISE EXCEPTION 'postings: an entry must sum to zero in its own currency'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER postings_balance AFTER INSERT ON postings
  REFERENCING NEW TABLE AS legs
  FOR EACH STATEMENT EXECUTE FUNCTION semel_postings_balance();
