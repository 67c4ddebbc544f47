-- An API key by its id.
-- @optional
{api-key-and-owner}
WHERE k.id = :id
