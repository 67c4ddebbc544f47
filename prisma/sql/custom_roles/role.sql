-- The built-in role that allows what the permissions of a custom role say of an area.
(CASE :permissions::jsonb ->> {area} WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole"
