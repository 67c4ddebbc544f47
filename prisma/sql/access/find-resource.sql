-- The name of a resource in messages, and the access of a user to it, for a resource of any kind with an
-- optional project. Of a sale: the organization that sells. Of an answer without a session: the
-- project of its request.
-- @optional
SELECT 'file' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=f role=storage_role}
FROM files f WHERE f.id = :id
UNION ALL
SELECT 'knowledge base' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=k role=ai_role}
FROM knowledge_bases k WHERE k.id = :id
UNION ALL
SELECT 'document' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=k role=ai_role}
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id WHERE d.id = :id
UNION ALL
SELECT 'session' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=c role=ai_role}
FROM ai_sessions c WHERE c.id = :id
UNION ALL
SELECT 'message' AS name, NULL AS seller_organization_id, m.key_project_id,
  {projects/access row=m role=ai_role}
FROM {chat/owned-message}
UNION ALL
SELECT 'order' AS name, o.seller_organization_id, NULL AS key_project_id,
  {projects/access row=o role=payments_role}
FROM orders o WHERE o.id = :id
UNION ALL
SELECT 'refund' AS name, r.seller_organization_id, NULL AS key_project_id,
  {projects/access row=r role=payments_role}
FROM refunds r WHERE r.id = :id
UNION ALL
SELECT 'payment' AS name, p.seller_organization_id, NULL AS key_project_id,
  {projects/access row=p role=payments_role}
FROM payments p WHERE p.id = :id
UNION ALL
SELECT 'dispute' AS name, d.seller_organization_id, NULL AS key_project_id,
  {projects/access row=d role=payments_role}
FROM disputes d WHERE d.id = :id
UNION ALL
SELECT 'checkout session' AS name, h.seller_organization_id, NULL AS key_project_id,
  {projects/access row=h role=payments_role}
FROM checkouts h WHERE h.id = :id
UNION ALL
SELECT 'subscription' AS name, s.seller_organization_id, NULL AS key_project_id,
  {projects/access row=s role=payments_role}
FROM subscriptions s WHERE s.id = :id
UNION ALL
SELECT 'folder' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=d role=storage_role}
FROM folders d WHERE d.id = :id AND d.deleted_at IS NULL
UNION ALL
SELECT 'job' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=j role=storage_role}
FROM tracked_jobs j WHERE j.id = :id
UNION ALL
SELECT 'upload link' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=l role=storage_role}
FROM upload_links l WHERE l.id = :id
UNION ALL
SELECT 'archive' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  {projects/access row=a role=storage_role}
FROM archives a WHERE a.id = :id
