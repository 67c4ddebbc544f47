-- Where the audit log begins and ends.
-- @one
SELECT c.sequence, c.signature, c.first_sequence, c.first_signature FROM audit_chain c WHERE c.id = 1
