-- Sets the name of the partial file of a leased upload. No row for a lost lease.
-- @optional
UPDATE uploads SET temp_name = :temp_name WHERE id = :id AND holder = :holder
RETURNING id
