-- The columns of a PortalSession, from portal_sessions t.
t.id, t.customer_id, t.return_url, t.expires_at, t.created_by, t.created_at, t.updated_at
