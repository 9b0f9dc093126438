CREATE TABLE "outbox_mark" (
	"numbered_below" "xid8" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "outbox_positions" (
	"merchant_id" uuid NOT NULL,
	"position" bigint NOT NULL,
	"event_id" uuid NOT NULL,
	CONSTRAINT "outbox_positions_merchant_id_position_pk" PRIMARY KEY("merchant_id","position"),
	CONSTRAINT "outbox_positions_event" UNIQUE("merchant_id","event_id")
);
--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "xid" "xid8" DEFAULT pg_current_xact_id() NOT NULL;--> statement-breakpoint
CREATE INDEX "outbox_events_xid" ON "outbox_events" USING btree ("xid");