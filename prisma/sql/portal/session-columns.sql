-- The columns of a PortalSession, from portal_sessions t.
t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
t.return_url, t.expires_at, t.created_by, t.created_at, t.updated_at
