CREATE TABLE "inbound_webhooks" (
	"psp" text NOT NULL,
	"event_id" varchar(255) NOT NULL,
	"type" varchar(255) NOT NULL,
	"reference" varchar(255),
	"merchant_id" uuid,
	"entry_id" uuid,
	"payload_digest" "bytea" NOT NULL,
	"result" text NOT NULL,
	"received_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "inbound_webhooks_psp_event_id_pk" PRIMARY KEY("psp","event_id"),
	CONSTRAINT "inbound_webhooks_result" CHECK ("inbound_webhooks"."result" in ('SETTLED', 'IN_REVIEW', 'AGREED', 'NOTED', 'CONTRADICTED', 'HURRIED', 'NOT_OURS', 'IGNORED')),
	CONSTRAINT "inbound_webhooks_about" CHECK (("inbound_webhooks"."merchant_id" is null) = ("inbound_webhooks"."entry_id" is null) and ("inbound_webhooks"."entry_id" is null) = ("inbound_webhooks"."result" in ('NOT_OURS', 'IGNORED')))
);
--> statement-breakpoint
CREATE INDEX "inbound_webhooks_entry" ON "inbound_webhooks" USING btree ("merchant_id","entry_id") WHERE "inbound_webhooks"."entry_id" is not null;--> statement-breakpoint
CREATE INDEX "journal_entries_id" ON "journal_entries" USING btree ("id");--> statement-breakpoint
-- Written by hand: what was heard never changes, and whoever serves may only add to it.
CREATE TRIGGER inbound_webhooks_kept BEFORE UPDATE OR DELETE ON inbound_webhooks
  FOR EACH ROW EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
CREATE TRIGGER inbound_webhooks_whole BEFORE TRUNCATE ON inbound_webhooks
  FOR EACH STATEMENT EXECUTE FUNCTION semel_refuse();
--> statement-breakpoint
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'semel_app') THEN
    GRANT SELECT, INSERT ON inbound_webhooks TO semel_app;
  END IF;
END $$;
