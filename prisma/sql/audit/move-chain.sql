-- Notes the last entry of the audit log.
-- @none
UPDATE audit_chain SET sequence = :sequence, signature = :signature WHERE id = 1
