-- An API key by the digest of its secret, in hex.
-- @optional
{api-key-and-owner}
WHERE k.digest = decode(:digest, 'hex')
