-- The planner's first idea of the tables. Without any, a merchant's id looks as good a way to a row as
-- the row's own, and plans made for empty tables (the foreign keys' and the triggers' own among them)
-- would read all rows of a merchant for each payment until the first automatic ANALYZE. So: some rows
-- of one merchant, a look at them, and away with them; the statistics stay. Before the guards, which
-- would refuse the last step.

INSERT INTO payments (merchant_id, id, amount_minor, currency, status, authorized_minor,
  captured_minor, payment_method)
SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(), n, 'EUR', 'CAPTURED', n, n, 'none'
FROM generate_series(1, 1000) AS n;
--> statement-breakpoint
INSERT INTO journal_entries (merchant_id, id, payment_id, idempotency_key, operation, amount,
  amount_minor, currency, exponent, fingerprint_version, fingerprint, state, owner_token, lease_until,
  psp, psp_idempotency_key, psp_reference, outcome_source, sent_at, settled_at)
SELECT merchant_id, gen_random_uuid(), id, id::text, 'CHARGE', amount_minor, amount_minor, currency, 0,
  1, '', 'SUCCEEDED', id, now(), 'none', id, id::text, 'SYNC', now(), now()
FROM payments;
--> statement-breakpoint
INSERT INTO postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
SELECT e.merchant_id, e.id, l.leg, l.account, l.direction, e.amount_minor, e.currency
FROM journal_entries e
CROSS JOIN (VALUES (1, 'psp_clearing', 'DEBIT'), (2, 'merchant_payable', 'CREDIT'))
  AS l(leg, account, direction);
--> statement-breakpoint
INSERT INTO outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
SELECT merchant_id, id, payment_id, id, 'charge.succeeded', 2 FROM journal_entries;
--> statement-breakpoint
ANALYZE payments;
--> statement-breakpoint
ANALYZE journal_entries;
--> statement-breakpoint
ANALYZE postings;
--> statement-breakpoint
ANALYZE outbox_events;
--> statement-breakpoint
TRUNCATE payments, journal_entries, postings, outbox_events;
