-- A dispute by the gateway's id of it.
-- @optional
SELECT {dispute-columns}, d.project_id, d.synced_at
FROM disputes d
WHERE d.gateway_reference = :gateway_reference
