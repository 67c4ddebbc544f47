-- Whether the caller may read the event `e`. {role}: the caller's role in its project.
{may-read user=:user_id scopes=:scopes admin=true all=:all_projects projects=:project_ids}
