-- Whether another request waits for the lease of the upload.
coalesce(lease_requested_at > now() - interval '3 seconds', false)
