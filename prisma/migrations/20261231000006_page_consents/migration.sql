-- The invitation that the link of an e-mail leads to.
ALTER TABLE "mails" ADD COLUMN "resource_id" TEXT;

-- The identity that the use of a token links to its user.
ALTER TABLE "one_time_tokens" ADD COLUMN "provider" TEXT, ADD COLUMN "subject" TEXT;
