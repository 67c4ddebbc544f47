-- The end of the audit log, locked until the transaction ends: one process at a time adds entries.
-- @one
SELECT c.sequence, c.signature FROM audit_chain c WHERE c.id = 1 FOR UPDATE
