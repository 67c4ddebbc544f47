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
