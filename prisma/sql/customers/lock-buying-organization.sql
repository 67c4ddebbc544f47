-- Locks an organization that buys against deletion.
-- @optional
SELECT id FROM organizations WHERE id = :id FOR KEY SHARE
