-- Deletes a share. Of two requests at once, one gets the row.
-- @optional
DELETE FROM folder_shares WHERE id = :id RETURNING id
