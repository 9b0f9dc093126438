CREATE TABLE "postings_to_balance" (
	"merchant_id" uuid NOT NULL,
	"entry_id" uuid NOT NULL,
	CONSTRAINT "postings_to_balance_merchant_id_entry_id_pk" PRIMARY KEY("merchant_id","entry_id")
);
--> statement-breakpoint
-- The legs of an entry balance in their commit. Those that one statement writes, as T2 does, are looked
-- at all together when it ends; only what does not balance then is looked at again at the commit.
DROP TRIGGER postings_balance ON postings;
--> statement-breakpoint
DROP FUNCTION semel_postings_balance();
--> statement-breakpoint
CREATE FUNCTION semel_postings_balance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  unlike uuid;
BEGIN
  -- A plan made for an empty table must not read all entries, or all of a merchant, later: so this is
  -- a sub-select and not a join, and only the id is left to find its row by.
  WITH sums AS (
    SELECT l.merchant_id, l.entry_id,
      sum(CASE l.direction WHEN 'DEBIT' THEN l.amount_minor ELSE -l.amount_minor END) AS balance,
      min(l.currency) <> max(l.currency) OR min(l.currency) <> (
        SELECT e.currency FROM journal_entries e
        WHERE e.id = l.entry_id AND (e.merchant_id = l.merchant_id) IS TRUE) AS mixed
    FROM legs l GROUP BY l.merchant_id, l.entry_id
  ), later AS (
    INSERT INTO postings_to_balance (merchant_id, entry_id)
    SELECT s.merchant_id, s.entry_id FROM sums s WHERE s.balance <> 0
    ON CONFLICT DO NOTHING
  )
  SELECT s.entry_id INTO unlike FROM sums s WHERE s.mixed LIMIT 1;
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
--> statement-breakpoint
CREATE FUNCTION semel_postings_balance_at_last() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM 1 FROM postings p
   WHERE p.merchant_id = NEW.merchant_id AND p.entry_id = NEW.entry_id
  HAVING sum(CASE p.direction WHEN 'DEBIT' THEN p.amount_minor ELSE -p.amount_minor END) <> 0;
  IF FOUND THEN
    RAISE EXCEPTION 'postings: an entry must sum to zero in its own currency'
      USING ERRCODE = 'check_violation';
  END IF;
  DELETE FROM postings_to_balance b
   WHERE b.merchant_id = NEW.merchant_id AND b.entry_id = NEW.entry_id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER postings_balance_at_last AFTER INSERT ON postings_to_balance
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION semel_postings_balance_at_last();
