-- Whether the file `f` is visible: neither expired, nor in the trash, nor in a folder that is being deleted.
((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND {is-in-kept-folder})
