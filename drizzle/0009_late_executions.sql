ALTER TABLE "journal_entries" DROP CONSTRAINT "journal_entries_operation";--> statement-breakpoint
ALTER TABLE "journal_entries" DROP CONSTRAINT "journal_entries_key";--> statement-breakpoint
CREATE INDEX "journal_entries_review" ON "journal_entries" USING btree ("created_at") WHERE "journal_entries"."state" = 'IN_REVIEW';--> statement-breakpoint
CREATE INDEX "psp_observations_success" ON "psp_observations" USING btree ("created_at") WHERE "psp_observations"."state" = 'SUCCEEDED';--> statement-breakpoint
ALTER TABLE "journal_entries" ADD CONSTRAINT "journal_entries_operation" CHECK ("journal_entries"."operation" in ('CHARGE', 'AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND', 'CONFIRM', 'CANCEL', 'REVERSE'));--> statement-breakpoint
ALTER TABLE "journal_entries" ADD CONSTRAINT "journal_entries_key" CHECK ("journal_entries"."idempotency_key" ~ '^[!-~]+$' or "journal_entries"."operation" = 'REVERSE');
