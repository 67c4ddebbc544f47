-- An invitation is for an email address or for a user.
ALTER TABLE "invitations" ALTER COLUMN "email" DROP NOT NULL;
ALTER TABLE "invitations" ADD COLUMN     "user_id" TEXT;

CREATE INDEX "invitations_user_id_idx" ON "invitations"("user_id");

ALTER TABLE "invitations" ADD CONSTRAINT "invitations_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- Of the two, exactly one, except after the invited user was deleted.
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_invitee_check" CHECK (email IS NULL OR user_id IS NULL);
