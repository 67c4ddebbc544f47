-- When the owner whose limits of use an organization shares is no longer an owner, it shares those of its
-- longest-standing owner who agreed to be one: it takes no limits without consent. Without such an owner the
-- former one goes on to share them. At commit, because another owner may be made later in the transaction.
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
