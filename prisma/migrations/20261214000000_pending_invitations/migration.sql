-- One pending invitation for each address and for each user: those of users have an empty address.
DROP INDEX "invitations_pending_key";
CREATE UNIQUE INDEX "invitations_pending_key" ON "invitations"("project_id", "email", coalesce("user_id", ''))
  WHERE "status" = 'pending';
