-- Deliveries are the truth, jobs (graphile-worker, whose own schema is there before this migration)
-- only say at which endpoint somebody should look, and when. One endpoint has at most one job that
-- waits; a job that runs is no longer under the endpoint's key.

CREATE FUNCTION semel_wake_endpoint(merchant uuid, endpoint uuid, due timestamptz) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp AS $$
  -- Never later than it is to be already: whoever waits keeps its place. What took nothing the last
  -- time bears a flag: such endpoints get a part of the places only.
  SELECT semel_jobs.add_job('deliver_webhooks',
    json_build_object('merchantId', merchant, 'id', endpoint), job_key => 'webhooks:' || endpoint,
    run_at => least(due, (
      SELECT j.run_at FROM semel_jobs.jobs j
      WHERE j.key = 'webhooks:' || endpoint AND j.locked_at IS NULL)),
    flags => CASE WHEN e.failures > 0 THEN ARRAY['failing'] END)
  FROM webhook_endpoints e WHERE e.merchant_id = merchant AND e.id = endpoint
$$;
--> statement-breakpoint
-- As in 0005, and it wakes the endpoints of the merchants that have something new.
CREATE OR REPLACE FUNCTION semel_number_events() RETURNS TABLE (merchant uuid, last_position bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  mark xid8;
  horizon xid8;
  grown uuid[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock(5360724, 1);
  -- From here on each statement sees all that was committed before the lock was had (READ COMMITTED).
  SELECT numbered_below INTO STRICT mark FROM outbox_mark;
  -- Every transaction below has ended, and the next statement sees what it wrote.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  IF mark > horizon THEN
    mark := '0'; -- Restored into a younger cluster: look at all of them once.
  END IF;
  FOR merchant, last_position IN
    WITH fresh AS (
      -- A payment's versions are committed in their order, but may have been begun in another one.
      SELECT e.merchant_id, e.id, e.payment_id, e.payment_version,
        max(e.created_at) OVER (PARTITION BY e.merchant_id, e.payment_id ORDER BY e.payment_version)
          AS not_before
      FROM outbox_events e
      WHERE e.xid >= mark AND NOT EXISTS (
        SELECT FROM outbox_positions p WHERE p.merchant_id = e.merchant_id AND p.event_id = e.id)
    ), last AS MATERIALIZED (
      SELECT m.merchant_id, coalesce((
        SELECT p.position FROM outbox_positions p WHERE p.merchant_id = m.merchant_id
        ORDER BY p.position DESC LIMIT 1), 0) AS position
      FROM (SELECT DISTINCT f.merchant_id FROM fresh f) m
    ), numbered AS (
      INSERT INTO outbox_positions (merchant_id, position, event_id)
      SELECT f.merchant_id, l.position + row_number() OVER (
        PARTITION BY f.merchant_id ORDER BY f.not_before, f.payment_id, f.payment_version, f.id), f.id
      FROM fresh f JOIN last l ON l.merchant_id = f.merchant_id
      RETURNING outbox_positions.merchant_id, outbox_positions.position
    )
    SELECT n.merchant_id, max(n.position) FROM numbered n GROUP BY n.merchant_id
  LOOP
    grown := grown || merchant;
    RETURN NEXT;
  END LOOP;
  IF grown = '{}' THEN
    RETURN;
  END IF;
  UPDATE outbox_mark SET numbered_below = horizon;
  BEGIN
    PERFORM semel_wake_endpoint(e.merchant_id, e.id, now())
    FROM webhook_endpoints e
    WHERE e.merchant_id = ANY (grown) AND e.deleted_at IS NULL AND e.disabled_reason IS NULL
      AND (e.resume_at IS NULL OR e.resume_at <= now())
    ORDER BY e.id;
  EXCEPTION WHEN OTHERS THEN
    -- An event is worth more than the hint: whoever sweeps finds the endpoint by its position.
    RAISE WARNING 'webhooks were not woken: %', SQLERRM;
  END;
END $$;
--> statement-breakpoint
CREATE TRIGGER webhook_attempts_kept BEFORE UPDATE OR DELETE ON webhook_attempts
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER webhook_attempts_whole BEFORE TRUNCATE ON webhook_attempts
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
-- Who serves may move deliveries and endpoints on, and forget secrets, but delete nothing.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'semel_app') THEN
    RETURN;
  END IF;
  GRANT SELECT, INSERT ON webhook_endpoints, webhook_secrets, webhook_deliveries, webhook_attempts
    TO semel_app;
  GRANT UPDATE (url, description, event_types, position, disabled_reason, disabled_at, failures,
    failing_since, resume_at, lease_token, lease_until, deleted_at, updated_at)
    ON webhook_endpoints TO semel_app;
  GRANT UPDATE (sealed, expires_at) ON webhook_secrets TO semel_app;
  GRANT UPDATE (status, attempts, tries, failing_since, next_attempt_at, delivered_at)
    ON webhook_deliveries TO semel_app;
END $$;
--> statement-breakpoint
-- Jobs are nobody's truth: who serves adds, takes and removes them. Their tables have row security.
DO $$
DECLARE
  name text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'semel_app') THEN
    RETURN;
  END IF;
  GRANT USAGE ON SCHEMA semel_jobs TO semel_app;
  GRANT SELECT ON semel_jobs.migrations, semel_jobs.jobs TO semel_app;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA semel_jobs TO semel_app;
  FOREACH name IN ARRAY ARRAY['_private_jobs', '_private_job_queues', '_private_tasks',
    '_private_known_crontabs'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON semel_jobs.%I TO semel_app', name);
    EXECUTE format('CREATE POLICY semel_app_works ON semel_jobs.%I TO semel_app
      USING (true) WITH CHECK (true)', name);
  END LOOP;
END $$;
