CREATE TABLE "webhook_attempts" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"delivery_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"result" text NOT NULL,
	"http_status" integer,
	"duration_ms" integer NOT NULL,
	"response" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "webhook_attempts_merchant_id_id_pk" PRIMARY KEY("merchant_id","id"),
	CONSTRAINT "webhook_attempts_number" UNIQUE("merchant_id","endpoint_id","delivery_id","number"),
	CONSTRAINT "webhook_attempts_result" CHECK ("webhook_attempts"."result" in ('DELIVERED', 'HTTP_ERROR', 'REDIRECTED', 'TIMED_OUT', 'NOT_RESOLVED', 'NOT_CONNECTED', 'TLS_FAILED', 'DESTINATION_REFUSED'))
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"merchant_id" uuid NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"type" text NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp with time zone,
	"next_attempt_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"delivered_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "webhook_deliveries_merchant_id_endpoint_id_id_pk" PRIMARY KEY("merchant_id","endpoint_id","id"),
	CONSTRAINT "webhook_deliveries_status" CHECK ("webhook_deliveries"."status" in ('PENDING', 'DELIVERED', 'FAILED')),
	CONSTRAINT "webhook_deliveries_delivered" CHECK (not ("webhook_deliveries"."status" = 'DELIVERED') or "webhook_deliveries"."delivered_at" is not null)
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"url" varchar(2048) NOT NULL,
	"description" varchar(255),
	"event_types" text[],
	"position" bigint NOT NULL,
	"disabled_reason" text,
	"disabled_at" timestamp with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp with time zone,
	"resume_at" timestamp with time zone,
	"lease_token" uuid,
	"lease_until" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "webhook_endpoints_merchant_id_id_pk" PRIMARY KEY("merchant_id","id"),
	CONSTRAINT "webhook_endpoints_reason" CHECK ("webhook_endpoints"."disabled_reason" in ('BY_MERCHANT', 'GONE', 'FAILING')),
	CONSTRAINT "webhook_endpoints_disabled" CHECK (("webhook_endpoints"."disabled_reason" is null) = ("webhook_endpoints"."disabled_at" is null))
);
--> statement-breakpoint
CREATE TABLE "webhook_secrets" (
	"merchant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"sealed" "bytea",
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"expires_at" timestamp with time zone,
	CONSTRAINT "webhook_secrets_merchant_id_id_pk" PRIMARY KEY("merchant_id","id")
);
--> statement-breakpoint
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_of_delivery" FOREIGN KEY ("merchant_id","endpoint_id","delivery_id") REFERENCES "public"."webhook_deliveries"("merchant_id","endpoint_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_of_endpoint" FOREIGN KEY ("merchant_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("merchant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_of_endpoint" FOREIGN KEY ("merchant_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("merchant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("merchant_id","endpoint_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'PENDING';--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_endpoints_url" ON "webhook_endpoints" USING btree ("merchant_id","url") WHERE "webhook_endpoints"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "webhook_endpoints_live" ON "webhook_endpoints" USING btree ("merchant_id","id") WHERE "webhook_endpoints"."deleted_at" is null and "webhook_endpoints"."disabled_reason" is null;--> statement-breakpoint
CREATE INDEX "webhook_secrets_endpoint" ON "webhook_secrets" USING btree ("merchant_id","endpoint_id");