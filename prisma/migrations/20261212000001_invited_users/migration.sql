-- An invitation is for an email address or for a user.
ALTER TABLE "invitations" ADD COLUMN     "user_id" TEXT;

CREATE INDEX "invitations_user_id_idx" ON "invitations"("user_id");

ALTER TABLE "invitations" ADD CONSTRAINT "invitations_user_id_fkey"
  FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "invitations" ADD CONSTRAINT "invitations_invitee_check"
  CHECK ((email = '') = (user_id IS NOT NULL));
