-- The columns of a file t that change with its content.
version = t.version + 1, content_by = :user_id,
content_updated_at = greatest(now(), coalesce(t.content_updated_at, t.created_at) + interval '1 millisecond'),
updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
