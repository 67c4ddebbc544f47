-- Who hands out a right has it himself: who made a key, whose limits an organization shares, and what a user may
-- give to others.
ALTER TABLE "api_keys" ADD COLUMN "created_by" TEXT;
CREATE INDEX "api_keys_created_by_idx" ON "api_keys"("created_by");

ALTER TABLE "organizations" ADD COLUMN "limits_of" TEXT;
CREATE INDEX "organizations_limits_of_idx" ON "organizations"("limits_of");
UPDATE "organizations" o SET "limits_of" = (
  SELECT m."user_id" FROM "organization_members" m
  WHERE m."organization_id" = o."id" AND m."role" = 'owner' AND m."status" = 'active'
  ORDER BY m."created_at", m."id" LIMIT 1
);

DROP FUNCTION users_of_account(text);

-- Existing owners agreed: what they have counted for their organization.
ALTER TABLE "organization_members" ADD COLUMN "accepts_limits" BOOLEAN NOT NULL DEFAULT false;
UPDATE "organization_members" SET "accepts_limits" = true WHERE "role" = 'owner' AND "status" = 'active';

-- Whose limits the tokens of a day counted for.
ALTER TABLE "ai_usage" ADD COLUMN "limits_of" TEXT NOT NULL DEFAULT '';
UPDATE "ai_usage" u SET "limits_of" = coalesce(
  (SELECT coalesce(o."limits_of", s."account_id") FROM "service_accounts" s
     LEFT JOIN "organizations" o ON o."id" = s."account_id" WHERE s."user_id" = u."user_id"),
  u."user_id", '');
ALTER TABLE "ai_usage" DROP CONSTRAINT "ai_usage_pkey",
  ADD CONSTRAINT "ai_usage_pkey" PRIMARY KEY ("api_key_id", "day", "limits_of");
CREATE INDEX "ai_usage_limits_of_day_idx" ON "ai_usage"("limits_of", "day");

-- Whether a user may give another these roles in the areas of a project, now: the user must be active, an
-- admin of the project, and may do at least as much in each area. The most powerful role is the first of the
-- type; null allows nothing.
CREATE OR REPLACE FUNCTION may_give(
  giver text, project text,
  projects "MemberRole", storage "MemberRole", ai "MemberRole", payments "MemberRole"
)
RETURNS boolean
LANGUAGE sql
STABLE
AS $function$
  SELECT EXISTS (
    SELECT FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.project_id = may_give.project AND m.user_id = may_give.giver AND u.status = 'active'
      AND m.role <= least(may_give.projects, 'admin')
      AND coalesce(m.storage_role <= may_give.storage, may_give.storage IS NULL)
      AND coalesce(m.ai_role <= may_give.ai, may_give.ai IS NULL)
      AND coalesce(m.payments_role <= may_give.payments, may_give.payments IS NULL)
  )
$function$;

-- Whether a user may give another this role in an organization, now: the user must be active, an admin of the
-- organization, and for the role `owner` an owner.
CREATE OR REPLACE FUNCTION may_give_in_organization(giver text, organization text, role "OrganizationRole")
RETURNS boolean
LANGUAGE sql
STABLE
AS $function$
  SELECT EXISTS (
    SELECT FROM organization_members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = may_give_in_organization.organization
      AND m.user_id = may_give_in_organization.giver AND m.status = 'active' AND u.status = 'active'
      AND m.role <= least(may_give_in_organization.role, 'admin')
  )
$function$;

-- Whose limits of use (requests, tokens, turns) a user has: the user's own; those of the main owner of the
-- project of a service account; or those of its organization, which shares the limits of an owner unless an
-- operator gave it limits of its own. What a user has (quotas) counts for `account_of`.
CREATE OR REPLACE FUNCTION limits_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((
    SELECT coalesce(o.limits_of, s.account_id)
    FROM service_accounts s LEFT JOIN organizations o ON o.id = s.account_id
    WHERE s.user_id = limits_of.user_id
  ), user_id)
$function$;

-- The users who share the limits of use of a user: all for whom `limits_of` is the same.
CREATE OR REPLACE FUNCTION users_sharing_limits(user_id text)
RETURNS SETOF text
LANGUAGE sql
STABLE
AS $function$
  WITH account AS MATERIALIZED (SELECT limits_of(user_id) AS id)
  SELECT id FROM account
  UNION ALL
  SELECT s.user_id FROM account a JOIN service_accounts s ON s.account_id = a.id
  UNION ALL
  SELECT s.user_id FROM account a JOIN organizations o ON o.limits_of = a.id
    JOIN service_accounts s ON s.account_id = o.id
$function$;

-- When the owner whose limits of use an organization shares is no owner any more, it shares those of its
-- longest-standing owner who agreed to be one: it takes no limits without consent. Without such an owner the former
-- one goes on to share them. At commit, because another owner may be made later in the transaction.
CREATE OR REPLACE FUNCTION move_organization_limits()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE organizations o SET limits_of = next.user_id
  FROM (
    SELECT m.user_id FROM organization_members m
    WHERE m.organization_id = OLD.organization_id AND m.role = 'owner' AND m.status = 'active'
      AND m.accepts_limits
    ORDER BY m.created_at, m.id LIMIT 1
  ) next
  WHERE o.id = OLD.organization_id AND o.limits_of = OLD.user_id AND NOT EXISTS (
    SELECT FROM organization_members m
    WHERE m.organization_id = o.id AND m.user_id = o.limits_of AND m.role = 'owner' AND m.status = 'active'
  );
  RETURN NULL;
END $function$;

CREATE CONSTRAINT TRIGGER organization_members_move_limits
  AFTER DELETE OR UPDATE OF role ON organization_members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"OrganizationRole")) EXECUTE FUNCTION move_organization_limits();

-- Notifies all servers that the service accounts of an organization use other limits (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_limits_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', s.user_id) FROM service_accounts s
  WHERE s.account_id = NEW.id AND s.deleted_at IS NULL;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER organizations_notify_limits AFTER UPDATE OF limits_of ON organizations
  FOR EACH ROW WHEN ((old.limits_of IS DISTINCT FROM new.limits_of)) EXECUTE FUNCTION notify_limits_change();
