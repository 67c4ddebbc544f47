-- People sign in: passwords, sessions, one-time tokens that are sent by e-mail, and the e-mails themselves.
CREATE TABLE "user_passwords" (
    "user_id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "user_passwords_pkey" PRIMARY KEY ("user_id")
);

CREATE TABLE "sign_ins" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "methods" TEXT[] NOT NULL,
    "ip" TEXT,
    "network" TEXT NOT NULL,
    "device" TEXT,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_ins_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "sign_ins_user_id_id_idx" ON "sign_ins"("user_id", "id");
CREATE INDEX "sign_ins_expires_at_idx" ON "sign_ins"("expires_at");

CREATE TABLE "one_time_tokens" (
    "digest" BYTEA NOT NULL,
    "purpose" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "user_id" TEXT,
    "name" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "one_time_tokens_pkey" PRIMARY KEY ("digest")
);
CREATE INDEX "one_time_tokens_expires_at_idx" ON "one_time_tokens"("expires_at");
CREATE INDEX "one_time_tokens_email_idx" ON "one_time_tokens"("email");
CREATE INDEX "one_time_tokens_user_id_idx" ON "one_time_tokens"("user_id");

CREATE TABLE "user_totp" (
    "user_id" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "confirmed_at" TIMESTAMPTZ(3),
    "last_step" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "user_totp_pkey" PRIMARY KEY ("user_id")
);

CREATE TABLE "recovery_codes" (
    "user_id" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,

    CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("user_id","digest")
);

CREATE TABLE "sign_in_failures" (
    "account" BYTEA NOT NULL,
    "network" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "failed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_failures_pkey" PRIMARY KEY ("account","network")
);
CREATE INDEX "sign_in_failures_failed_at_idx" ON "sign_in_failures"("failed_at");

CREATE TABLE "mails" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "recipient" TEXT NOT NULL,
    "user_id" TEXT,
    "secret" TEXT,
    "subject" TEXT,
    "content" TEXT,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "sent_at" TIMESTAMPTZ(3),

    CONSTRAINT "mails_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "mails_recipient_kind_created_at_idx" ON "mails"("recipient", "kind", "created_at");
CREATE INDEX "mails_user_id_idx" ON "mails"("user_id");
CREATE INDEX "mails_created_at_idx" ON "mails"("created_at");

ALTER TABLE "user_passwords" ADD CONSTRAINT "user_passwords_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "user_totp" ADD CONSTRAINT "user_totp_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "sign_ins" ADD CONSTRAINT "sign_ins_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A session that ends is dropped from the cache of every server.
CREATE OR REPLACE FUNCTION notify_sign_in_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', OLD.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER sign_ins_notify_change AFTER DELETE ON sign_ins
  FOR EACH ROW EXECUTE FUNCTION notify_sign_in_change();
