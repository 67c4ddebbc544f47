-- The columns of an AccountExport, without its URL, from account_exports e.
e.id, e.status, e.bytes, e.sha256, e.created_at, e.updated_at, e.completed_at, e.expires_at
