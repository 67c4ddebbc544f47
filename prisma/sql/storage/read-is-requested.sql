-- Whether another request waits for the lease. No row for a lost lease.
-- @optional
SELECT {is-requested} AS is_requested FROM uploads WHERE id = :id AND holder = :holder
