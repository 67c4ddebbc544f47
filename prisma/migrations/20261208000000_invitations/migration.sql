-- An invited user can decline. An invitation shows the names of its project and of the user who created it;
-- stored events get the names of today.
ALTER TYPE "InvitationStatus" ADD VALUE 'declined';

UPDATE events e SET data = json_build_object(
  'object', (
    SELECT json_object_agg(key, value ORDER BY position)
    FROM (
      SELECT key, value, position
      FROM json_each(e.data -> 'object') WITH ORDINALITY AS f (key, value, position)
      UNION ALL SELECT 'project_name', to_json(coalesce(p.name, 'Deleted project')), 1000
      UNION ALL SELECT 'created_by_name', to_json(coalesce(u.name, 'Deleted user')), 1001
    ) fields),
  'previous_attributes', e.data -> 'previous_attributes')
FROM events own
  LEFT JOIN projects p ON p.id = own.project_id
  LEFT JOIN users u ON u.id = own.data -> 'object' ->> 'created_by'
WHERE own.id = e.id AND e.type IN ('invitation.created', 'invitation.revoked');
