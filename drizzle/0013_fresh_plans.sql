-- Giving events their numbers costs the same, however many have one already, and whatever the planner knew
-- of the tables when a session asked for the first time. A plan made for empty tables, kept for the life of
-- the session, compared each new event with all earlier ones: seconds for a step until the first automatic
-- ANALYZE. So each step is planned by the size the tables have by then, new events are found by their
-- transaction, and the position of each by its key: a sub-select that no planner turns into a join.
CREATE OR REPLACE FUNCTION semel_number_events() RETURNS TABLE (merchant uuid, last_position bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
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
    WITH recent AS MATERIALIZED (
      SELECT e.merchant_id, e.id, e.payment_id, e.payment_version, e.created_at, (
        SELECT p.position FROM outbox_positions p
        WHERE p.merchant_id = e.merchant_id AND p.event_id = e.id) AS position
      FROM outbox_events e WHERE e.xid >= mark ORDER BY e.xid
    ), fresh AS (
      -- A payment's versions are committed in their order, but may have been begun in another one.
      SELECT r.merchant_id, r.id, r.payment_id, r.payment_version,
        max(r.created_at) OVER (PARTITION BY r.merchant_id, r.payment_id ORDER BY r.payment_version)
          AS not_before
      FROM recent r WHERE r.position IS NULL
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
