-- A look-up may say that a charge whose answer was lost waits for its buyer.
CREATE OR REPLACE FUNCTION semel_entry_moves() RETURNS trigger LANGUAGE plpgsql AS $$
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
     OR OLD.state = 'UNKNOWN' AND NEW.state = 'PENDING'
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
