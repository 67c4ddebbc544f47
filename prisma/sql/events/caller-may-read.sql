-- Whether the caller `l` may read the event `e`. {role}: the caller's role in its project.
{may-read user=l.user_id scopes=l.scopes admin=l.operator all=l.all_projects projects=l.project_ids
  types=l.unlimited_key_types}
