// Generated from prisma/sql by `npm run generate`. Do not edit.
import { optional } from '../../infra/database/queries.ts'

/**
 * The name of a resource in messages, and the access of a user to it, for a resource of any kind with an
 * optional project. Of a sale: the organization that sells. Of an answer without a session: the
 * project of its request.
 * @see prisma/sql/access/find-resource.sql
 */
export const findResource = optional<{ user_id: string; id: string }, FindResourceRow>(
  'access/find-resource',
  `SELECT 'file' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  f.project_id, f.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id) AS project_status
FROM files f WHERE f.id = $2
UNION ALL
SELECT 'knowledge base' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status
FROM knowledge_bases k WHERE k.id = $2
UNION ALL
SELECT 'document' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id WHERE d.id = $2
UNION ALL
SELECT 'session' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  c.project_id, c.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = c.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = c.project_id) AS project_status
FROM ai_sessions c WHERE c.id = $2
UNION ALL
SELECT 'message' AS name, NULL AS seller_organization_id, m.key_project_id,
  m.project_id, m.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = m.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = m.project_id) AS project_status
FROM (
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id,
    CASE WHEN m.session_id IS NULL THEN m.usage_project_id END AS key_project_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id
  WHERE m.id = $2
) m
UNION ALL
SELECT 'order' AS name, o.seller_organization_id, NULL AS key_project_id,
  o.project_id, o.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = o.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = o.project_id) AS project_status
FROM orders o WHERE o.id = $2
UNION ALL
SELECT 'refund' AS name, r.seller_organization_id, NULL AS key_project_id,
  r.project_id, r.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = r.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = r.project_id) AS project_status
FROM refunds r WHERE r.id = $2
UNION ALL
SELECT 'payment' AS name, p.seller_organization_id, NULL AS key_project_id,
  p.project_id, p.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = p.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = p.project_id) AS project_status
FROM payments p WHERE p.id = $2
UNION ALL
SELECT 'dispute' AS name, d.seller_organization_id, NULL AS key_project_id,
  d.project_id, d.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = d.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = d.project_id) AS project_status
FROM disputes d WHERE d.id = $2
UNION ALL
SELECT 'checkout session' AS name, h.seller_organization_id, NULL AS key_project_id,
  h.project_id, h.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = h.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = h.project_id) AS project_status
FROM checkouts h WHERE h.id = $2
UNION ALL
SELECT 'subscription' AS name, s.seller_organization_id, NULL AS key_project_id,
  s.project_id, s.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = s.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = s.project_id) AS project_status
FROM subscriptions s WHERE s.id = $2
UNION ALL
SELECT 'folder' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  d.project_id, d.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = d.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = d.project_id) AS project_status
FROM folders d WHERE d.id = $2 AND d.deleted_at IS NULL
UNION ALL
SELECT 'job' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  j.project_id, j.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = j.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = j.project_id) AS project_status
FROM tracked_jobs j WHERE j.id = $2
UNION ALL
SELECT 'upload link' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  l.project_id, l.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = l.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = l.project_id) AS project_status
FROM upload_links l WHERE l.id = $2
UNION ALL
SELECT 'archive' AS name, NULL AS seller_organization_id, NULL AS key_project_id,
  a.project_id, a.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = a.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = a.project_id) AS project_status
FROM archives a WHERE a.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface FindResourceRow {
  name: string
  seller_organization_id: string | null
  key_project_id: string | null
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The seller of a product, a price or an order: an organization, or null for the operator.
 * @see prisma/sql/access/find-seller.sql
 */
export const findSeller = optional<{ id: string }, FindSellerRow>(
  'access/find-seller',
  `SELECT organization_id FROM products WHERE id = $1
UNION ALL
SELECT organization_id FROM prices WHERE id = $1
UNION ALL
SELECT seller_organization_id FROM orders WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface FindSellerRow {
  organization_id: string | null
}
