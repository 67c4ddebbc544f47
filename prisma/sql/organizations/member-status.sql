-- The status of the member `m`. In the table, an expired invitation is `invited`.
CASE WHEN m.status = 'invited' AND m.expires_at <= now() THEN 'expired' ELSE m.status::text END
