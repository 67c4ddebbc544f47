-- Whether the file `f` has not expired.
(f.expires_at IS NULL OR f.expires_at > now())
