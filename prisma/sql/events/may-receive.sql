-- Whether the endpoint `w` of the user `u` may receive the event `e`. `m`: the user's membership in the
-- event's project. A test event has a delivery to its own endpoint alone.
u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  {events/may-read user=w.user_id scopes=w.scopes admin=(u.role='admin')
    all=w.all_projects projects=w.project_ids types=:unlimited_key_types
    role=role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role)}
))
