-- The status of the invitation `i`. In the table, an expired invitation is `pending`.
CASE WHEN i.status = 'pending' AND i.expires_at <= now() THEN 'expired' ELSE i.status::text END
