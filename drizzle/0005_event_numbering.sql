-- Events get their positions after their commit, in steps of their own: a number taken while writing
-- (a sequence) would show 7 before 6 has committed, and who reads "after 7" would miss 6. One step at
-- a time, and what it looks at is newer than the end of the step before it.

CREATE FUNCTION semel_number_events() RETURNS TABLE (merchant uuid, last_position bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  mark xid8;
  horizon xid8;
BEGIN
  PERFORM pg_advisory_xact_lock(5360724, 1);
  -- From here on each statement sees all that was committed before the lock was had (READ COMMITTED).
  SELECT numbered_below INTO STRICT mark FROM outbox_mark;
  -- Every transaction below has ended, and the next statement sees what it wrote.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  IF mark > horizon THEN
    mark := '0'; -- Restored into a younger cluster: look at all of them once.
  END IF;
  RETURN QUERY
  WITH fresh AS (
    -- A payment's versions are committed in their order, but may have been begun in another one.
    SELECT e.merchant_id, e.id, e.payment_id, e.payment_version,
      max(e.created_at) OVER (PARTITION BY e.merchant_id, e.payment_id ORDER BY e.payment_version)
        AS not_before
    FROM outbox_events e
    WHERE e.xid >= mark AND NOT EXISTS (
      SELECT FROM outbox_positions p WHERE p.merchant_id = e.merchant_id AND p.event_id = e.id)
  ), last AS (
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
  SELECT n.merchant_id, max(n.position) FROM numbered n GROUP BY n.merchant_id;
  IF FOUND THEN
    UPDATE outbox_mark SET numbered_below = horizon;
  END IF;
END $$;
--> statement-breakpoint
INSERT INTO outbox_mark (numbered_below) VALUES ('0');
--> statement-breakpoint
SELECT semel_number_events();
--> statement-breakpoint
CREATE TRIGGER outbox_positions_kept BEFORE UPDATE OR DELETE ON outbox_positions
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER outbox_positions_whole BEFORE TRUNCATE ON outbox_positions
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
-- Who serves may have the step done, but writes no position itself.
REVOKE EXECUTE ON FUNCTION semel_number_events() FROM PUBLIC;
--> statement-breakpoint
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'semel_app') THEN
    GRANT EXECUTE ON FUNCTION semel_number_events() TO semel_app;
    GRANT SELECT ON outbox_positions TO semel_app;
  END IF;
END $$;
