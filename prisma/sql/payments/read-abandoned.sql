-- Whether the owner or the project of a subscription is deleted. An owner who only left the project does not
-- count: the subscription stays with the project.
-- @one
SELECT s.abandoned OR coalesce(u.status = 'deleted', false) OR coalesce(p.status = 'deleted', false)
  AS abandoned
FROM subscriptions s LEFT JOIN users u ON u.id = s.owner_id LEFT JOIN projects p ON p.id = s.project_id
WHERE s.id = :id
