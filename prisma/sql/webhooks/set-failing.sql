-- Notes that endpoints fail from now on, unless they already do.
-- @none
UPDATE webhook_endpoints SET failing_since = now() WHERE id = ANY(:ids) AND failing_since IS NULL
