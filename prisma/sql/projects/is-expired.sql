-- Whether a deleted project can no longer be restored, from projects p.
p.deleted_at < now() - make_interval(days => :restorable_days)
