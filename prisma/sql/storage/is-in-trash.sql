-- Whether the file `f` is in the trash, and has not expired there.
(f.trashed_at IS NOT NULL AND (f.expires_at IS NULL OR f.expires_at > now()))
