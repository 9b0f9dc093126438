CREATE TABLE "journal_entries" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"idempotency_key" varchar(255) NOT NULL,
	"operation" text NOT NULL,
	"amount" numeric(18, 4) NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" char(3) NOT NULL,
	"exponent" smallint NOT NULL,
	"fingerprint_version" smallint NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"state" text NOT NULL,
	"attempt" integer DEFAULT 1 NOT NULL,
	"owner_token" uuid NOT NULL,
	"lease_until" timestamp with time zone NOT NULL,
	"psp" text NOT NULL,
	"psp_idempotency_key" uuid NOT NULL,
	"psp_reference" text,
	"outcome_source" text,
	"decline_code" text,
	"soft_decline" boolean,
	"reason" text,
	"request" jsonb,
	"checks" integer DEFAULT 0 NOT NULL,
	"next_check_at" timestamp with time zone,
	"sent_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "journal_entries_merchant_id_id_pk" PRIMARY KEY("merchant_id","id"),
	CONSTRAINT "journal_entries_intent" UNIQUE("merchant_id","idempotency_key"),
	CONSTRAINT "journal_entries_psp_key" UNIQUE("merchant_id","psp_idempotency_key"),
	CONSTRAINT "journal_entries_operation" CHECK ("journal_entries"."operation" in ('CHARGE', 'AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND', 'CONFIRM', 'CANCEL')),
	CONSTRAINT "journal_entries_state" CHECK ("journal_entries"."state" in ('SENDING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'UNKNOWN', 'PENDING', 'IN_REVIEW')),
	CONSTRAINT "journal_entries_source" CHECK ("journal_entries"."outcome_source" in ('SYNC', 'INQUIRY', 'WEBHOOK', 'OPERATOR', 'NOT_SENT')),
	CONSTRAINT "journal_entries_key" CHECK ("journal_entries"."idempotency_key" ~ '^[!-~]+$'),
	CONSTRAINT "journal_entries_amount" CHECK (("journal_entries"."amount_minor" > 0 or "journal_entries"."operation" = 'CANCEL' and "journal_entries"."amount_minor" = 0) and "journal_entries"."exponent" between 0 and 4 and "journal_entries"."amount" * (array[1, 10, 100, 1000, 10000])["journal_entries"."exponent" + 1] = "journal_entries"."amount_minor"),
	CONSTRAINT "journal_entries_settled" CHECK (("journal_entries"."state" in ('SUCCEEDED', 'DECLINED', 'FAILED')) = ("journal_entries"."settled_at" is not null)),
	CONSTRAINT "journal_entries_open" CHECK (not ("journal_entries"."state" in ('SENDING', 'UNKNOWN', 'PENDING')) or "journal_entries"."next_check_at" is not null)
);
--> statement-breakpoint
CREATE TABLE "outbox_events" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"entry_id" uuid NOT NULL,
	"type" text NOT NULL,
	"payment_version" integer NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "outbox_events_merchant_id_id_pk" PRIMARY KEY("merchant_id","id")
);
--> statement-breakpoint
CREATE TABLE "payments" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"transaction_id" varchar(255),
	"amount_minor" bigint NOT NULL,
	"currency" char(3) NOT NULL,
	"status" text NOT NULL,
	"authorized_minor" bigint DEFAULT 0 NOT NULL,
	"captured_minor" bigint DEFAULT 0 NOT NULL,
	"capture_reserved_minor" bigint DEFAULT 0 NOT NULL,
	"refunded_minor" bigint DEFAULT 0 NOT NULL,
	"refund_reserved_minor" bigint DEFAULT 0 NOT NULL,
	"void_reserved" boolean DEFAULT false NOT NULL,
	"psp" text,
	"psp_reference" text,
	"authorized_until" timestamp with time zone,
	"next_action_url" text,
	"payment_method" text NOT NULL,
	"description" text,
	"metadata" jsonb,
	"version" integer DEFAULT 1 NOT NULL,
	"next_check_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "payments_merchant_id_id_pk" PRIMARY KEY("merchant_id","id"),
	CONSTRAINT "payments_status" CHECK ("payments"."status" in ('PROCESSING', 'REQUIRES_ACTION', 'AUTHORIZED', 'PARTIALLY_CAPTURED', 'CAPTURED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'VOIDED', 'DECLINED', 'FAILED', 'EXPIRED', 'UNKNOWN', 'IN_REVIEW', 'NOT_SENT')),
	CONSTRAINT "payments_amount" CHECK ("payments"."amount_minor" between 1 and 99999999999999 or "payments"."amount_minor" = 0 and "payments"."status" = 'NOT_SENT'),
	CONSTRAINT "payments_authorized" CHECK ("payments"."authorized_minor" >= 0 and "payments"."authorized_minor" <= "payments"."amount_minor"),
	CONSTRAINT "payments_captured" CHECK ("payments"."captured_minor" >= 0 and "payments"."capture_reserved_minor" >= 0 and "payments"."captured_minor" + "payments"."capture_reserved_minor" <= "payments"."authorized_minor"),
	CONSTRAINT "payments_refunded" CHECK ("payments"."refunded_minor" >= 0 and "payments"."refund_reserved_minor" >= 0 and "payments"."refunded_minor" + "payments"."refund_reserved_minor" <= "payments"."captured_minor"),
	CONSTRAINT "payments_void" CHECK (not ("payments"."void_reserved" or "payments"."status" = 'VOIDED') or "payments"."captured_minor" + "payments"."capture_reserved_minor" = 0)
);
--> statement-breakpoint
CREATE TABLE "postings" (
	"merchant_id" uuid NOT NULL,
	"entry_id" uuid NOT NULL,
	"leg" smallint NOT NULL,
	"account" text NOT NULL,
	"direction" text NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" char(3) NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "postings_merchant_id_entry_id_leg_pk" PRIMARY KEY("merchant_id","entry_id","leg"),
	CONSTRAINT "postings_direction" CHECK ("postings"."direction" in ('DEBIT', 'CREDIT')),
	CONSTRAINT "postings_account" CHECK ("postings"."account" in ('psp_clearing', 'merchant_payable', 'psp_fees', 'refunds_in_doubt')),
	CONSTRAINT "postings_leg" CHECK ("postings"."leg" > 0),
	CONSTRAINT "postings_amount" CHECK ("postings"."amount_minor" between 1 and 99999999999999)
);
--> statement-breakpoint
CREATE TABLE "psp_observations" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"entry_id" uuid NOT NULL,
	"attempt" integer NOT NULL,
	"state" text NOT NULL,
	"outcome_source" text,
	"psp_reference" text,
	"reason" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "psp_observations_merchant_id_id_pk" PRIMARY KEY("merchant_id","id")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"prefix" text NOT NULL,
	"name" text NOT NULL,
	"scopes" text[] NOT NULL,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "api_keys_merchant_id_id_pk" PRIMARY KEY("merchant_id","id")
);
--> statement-breakpoint
CREATE TABLE "merchants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "journal_entries" ADD CONSTRAINT "journal_entries_of_payment" FOREIGN KEY ("merchant_id","payment_id") REFERENCES "public"."payments"("merchant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "postings" ADD CONSTRAINT "postings_of_entry" FOREIGN KEY ("merchant_id","entry_id") REFERENCES "public"."journal_entries"("merchant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_merchant_id_merchants_id_fk" FOREIGN KEY ("merchant_id") REFERENCES "public"."merchants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "journal_entries_live_charge" ON "journal_entries" USING btree ("merchant_id","payment_id") WHERE "journal_entries"."operation" in ('CHARGE', 'AUTHORIZE') and not ("journal_entries"."state" in ('DECLINED', 'FAILED'));--> statement-breakpoint
CREATE INDEX "journal_entries_payment" ON "journal_entries" USING btree ("merchant_id","payment_id");--> statement-breakpoint
CREATE INDEX "journal_entries_psp_reference" ON "journal_entries" USING btree ("merchant_id","psp_reference") WHERE "journal_entries"."psp_reference" is not null;--> statement-breakpoint
CREATE INDEX "journal_entries_due" ON "journal_entries" USING btree ("next_check_at") WHERE "journal_entries"."state" in ('SENDING', 'UNKNOWN', 'PENDING');--> statement-breakpoint
CREATE INDEX "outbox_events_payment" ON "outbox_events" USING btree ("merchant_id","payment_id");--> statement-breakpoint
CREATE UNIQUE INDEX "payments_live_transaction_id" ON "payments" USING btree ("merchant_id","transaction_id") WHERE "payments"."transaction_id" is not null and not ("payments"."status" in ('DECLINED', 'FAILED', 'VOIDED', 'EXPIRED', 'NOT_SENT'));--> statement-breakpoint
CREATE INDEX "payments_authorized_until" ON "payments" USING btree ("authorized_until") WHERE "payments"."status" = 'AUTHORIZED' and "payments"."authorized_until" is not null;--> statement-breakpoint
CREATE INDEX "psp_observations_entry" ON "psp_observations" USING btree ("merchant_id","entry_id");--> statement-breakpoint
CREATE INDEX "api_keys_hash" ON "api_keys" USING btree ("key_hash");