-- Ends a portal session.
-- @none
DELETE FROM portal_sessions WHERE id = :id
