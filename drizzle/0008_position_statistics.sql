-- The planner's first idea of the positions, as in 0001: without any, it looked for an event among all
-- positions of its merchant, and giving events their numbers cost more than the payments themselves
-- until the first automatic ANALYZE. A table that holds rows already is only looked at.
DO $$
BEGIN
  IF EXISTS (SELECT FROM outbox_positions) THEN
    ANALYZE outbox_positions;
    RETURN;
  END IF;
  INSERT INTO outbox_positions (merchant_id, position, event_id)
  SELECT '00000000-0000-0000-0000-000000000000', n, gen_random_uuid()
  FROM generate_series(1, 1000) AS n;
  ANALYZE outbox_positions;
  ALTER TABLE outbox_positions DISABLE TRIGGER outbox_positions_whole;
  TRUNCATE outbox_positions;
  ALTER TABLE outbox_positions ENABLE TRIGGER outbox_positions_whole;
END $$;
