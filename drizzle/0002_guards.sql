-- What the tables' definitions cannot say: which rows never change, which columns move only
-- forward, and that every entry's postings balance. Refusals use SQLSTATE class 23 (integrity
-- constraint violation), as a CHECK would.

CREATE FUNCTION semel_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'restrict_violation';
END $$;
--> statement-breakpoint
CREATE FUNCTION semel_entry_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.merchant_id, NEW.id, NEW.payment_id, NEW.idempotency_key, NEW.operation, NEW.amount,
      NEW.amount_minor, NEW.currency, NEW.exponent, NEW.fingerprint, NEW.fingerprint_version,
      NEW.psp, NEW.psp_idempotency_key, NEW.request, NEW.created_at)
     IS DISTINCT FROM
     (OLD.merchant_id, OLD.id, OLD.payment_id, OLD.idempotency_key, OLD.operation, OLD.amount,
      OLD.amount_minor, OLD.currency, OLD.exponent, OLD.fingerprint, OLD.fingerprint_version,
      OLD.psp, OLD.psp_idempotency_key, OLD.request, OLD.created_at)
  THEN
    RAISE EXCEPTION 'journal_entries: only the forward columns may change'
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.attempt < OLD.attempt THEN
    RAISE EXCEPTION 'journal_entries: attempt never falls' USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.psp_reference IS NOT NULL AND NEW.psp_reference IS DISTINCT FROM OLD.psp_reference THEN
    RAISE EXCEPTION 'journal_entries: psp_reference is written once'
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.state = OLD.state AND OLD.settled_at IS NULL
     OR OLD.state = 'SENDING'
        AND NEW.state IN ('SUCCEEDED', 'DECLINED', 'FAILED', 'UNKNOWN', 'PENDING')
     OR OLD.state IN ('UNKNOWN', 'PENDING')
        AND NEW.state IN ('SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW')
     OR OLD.state = 'IN_REVIEW' AND NEW.outcome_source = 'OPERATOR'
        AND NEW.state IN ('SUCCEEDED', 'DECLINED', 'FAILED')
     OR OLD.state = 'FAILED' AND OLD.outcome_source = 'NOT_SENT'
        AND (NEW.state = 'SENDING' AND NEW.attempt > OLD.attempt
          OR NEW.state = 'FAILED' AND NEW.outcome_source = 'OPERATOR')
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'journal_entries: no way from % to %', OLD.state, NEW.state
    USING ERRCODE = 'restrict_violation';
END $$;
--> statement-breakpoint
CREATE TRIGGER journal_entries_moves BEFORE UPDATE ON journal_entries
  FOR EACH ROW EXECUTE FUNCTION semel_entry_moves();
--> statement-breakpoint
CREATE TRIGGER journal_entries_kept BEFORE DELETE ON journal_entries
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER journal_entries_whole BEFORE TRUNCATE ON journal_entries
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER payments_kept BEFORE DELETE ON payments
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER payments_whole BEFORE TRUNCATE ON payments
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER postings_kept BEFORE UPDATE OR DELETE ON postings
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER postings_whole BEFORE TRUNCATE ON postings
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER psp_observations_kept BEFORE UPDATE OR DELETE ON psp_observations
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER psp_observations_whole BEFORE TRUNCATE ON psp_observations
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER outbox_events_kept BEFORE UPDATE OR DELETE ON outbox_events
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER outbox_events_whole BEFORE TRUNCATE ON outbox_events
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE FUNCTION semel_postings_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1
    FROM postings p
    JOIN journal_entries e ON e.merchant_id = p.merchant_id AND e.id = p.entry_id
   WHERE p.merchant_id = NEW.merchant_id AND p.entry_id = NEW.entry_id
  HAVING sum(CASE p.direction WHEN 'DEBIT' THEN p.amount_minor ELSE -p.amount_minor END) <> 0
      OR bool_or(p.currency <> e.currency);
  IF FOUND THEN
    RAISE EXCEPTION 'postings: an entry must sum to zero in its own currency'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Deferred: the legs of an entry may come in several statements, but not in several commits.
CREATE CONSTRAINT TRIGGER postings_balance AFTER INSERT ON postings
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION semel_postings_balance();
