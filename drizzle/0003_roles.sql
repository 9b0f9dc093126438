-- Who serves may do no more than serving takes: no DDL, no DELETE or TRUNCATE anywhere, no UPDATE of
-- what is append-only, and elsewhere only of the columns that move. The role cannot log in; give it to
-- the login that DATABASE_URL names:
--   CREATE ROLE shop LOGIN PASSWORD '…' IN ROLE semel_app;
-- Roles belong to the whole server: where whoever migrates may not make one, an administrator makes
-- it (CREATE ROLE semel_app NOLOGIN) before the first migration, or there is none.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'semel_app') THEN
    CREATE ROLE semel_app NOLOGIN;
  END IF;
EXCEPTION
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'semel_app is not there and may not be made: nothing is granted to it';
  WHEN duplicate_object OR unique_violation THEN
    NULL; -- Another database's migration made it just now.
END $$;
--> statement-breakpoint
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'semel_app') THEN
    RETURN;
  END IF;
  GRANT USAGE ON SCHEMA public, drizzle TO semel_app;
  GRANT SELECT ON drizzle.__drizzle_migrations, merchants, api_keys TO semel_app;
  GRANT SELECT, INSERT ON payments, journal_entries, postings, psp_observations, outbox_events
    TO semel_app;
  GRANT UPDATE (status, authorized_minor, captured_minor, capture_reserved_minor, refunded_minor,
    refund_reserved_minor, void_reserved, psp, psp_reference, authorized_until, next_action_url,
    version, next_check_at, updated_at) ON payments TO semel_app;
  GRANT UPDATE (state, attempt, owner_token, lease_until, psp_reference, outcome_source, decline_code,
    soft_decline, reason, checks, next_check_at, sent_at, settled_at) ON journal_entries TO semel_app;
END $$;
