-- Notes that endpoints no longer fail.
-- @none
UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ANY(:ids) AND failing_since IS NOT NULL
