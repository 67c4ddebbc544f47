-- Whether a reader may read the event `e`. The reader is the user {user} with the role {role} in the event's
-- project, who uses an API key or a webhook endpoint with the scopes {scopes} and the projects {projects}, or
-- {all} projects. {admin} says whether the user is an admin. {types}: the types whose events outside projects
-- need a key for all projects, `unlimitedKeyTypes` of services/events/log.ts. `canReadEvent` there is the
-- same rule for events in memory; test/events/permissions.test.ts compares the two.
e.scope = ANY({scopes}) AND ({admin} OR e.scope <> 'admin')
AND ({all} OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY({types})
  ELSE e.project_id = ANY({projects}) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce({role} <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = {user}
    ELSE true END
  OR ({events/is-sale} AND {admin} AND {scopes} && '{admin,payments:sell}')
)
