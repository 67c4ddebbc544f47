-- The columns of an Archive, except its project, from archives a.
a.id, a.name, a.files, a.bytes, a.owner_id AS created_by, a.expires_at, a.created_at
