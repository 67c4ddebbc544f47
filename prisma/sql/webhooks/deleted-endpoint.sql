-- The state of a deleted endpoint. A retention task deletes its deliveries and then its row.
deleted_at = now(), enabled = false, disabled_reason = NULL, secret = '', previous_secret = NULL,
previous_expires_at = NULL
