-- One name for one idea: `created_by` is who made a member or an invitation, and `total_amount` the amount of
-- an order or a checkout session. Stored events follow. The order of their keys stays the same.
ALTER TABLE "members" RENAME COLUMN "added_by" TO "created_by";
ALTER TABLE "members" RENAME CONSTRAINT "members_added_by_fkey" TO "members_created_by_fkey";
ALTER INDEX "members_added_by_idx" RENAME TO "members_created_by_idx";
ALTER TABLE "invitations" RENAME COLUMN "invited_by" TO "created_by";
ALTER TABLE "invitations" RENAME CONSTRAINT "invitations_invited_by_fkey" TO "invitations_created_by_fkey";
ALTER INDEX "invitations_invited_by_idx" RENAME TO "invitations_created_by_idx";
ALTER TABLE "checkouts" RENAME COLUMN "amount_total" TO "total_amount";

UPDATE events SET data = json_build_object(
  'object', (
    SELECT json_object_agg(
      CASE WHEN key IN ('added_by', 'invited_by') THEN 'created_by'
        WHEN key = 'amount_total' THEN 'total_amount' ELSE key END, value)
    FROM json_each(data -> 'object')),
  'previous_attributes', data -> 'previous_attributes')
WHERE type IN ('member.added', 'member.updated', 'member.removed', 'invitation.created', 'invitation.revoked',
  'checkout.created', 'checkout.completed', 'checkout.expired');
