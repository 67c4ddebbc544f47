-- Gives a locked endpoint the state of a deleted one.
-- @none
UPDATE webhook_endpoints SET {deleted-endpoint} WHERE id = :id
