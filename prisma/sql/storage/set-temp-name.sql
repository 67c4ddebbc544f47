-- Sets the name of the partial file of a leased upload. Returns no row if the lease is lost.
-- @optional
UPDATE uploads SET temp_name = :temp_name WHERE id = :id AND holder = :holder
RETURNING id
