-- Deletes a one-time token that will not be sent.
-- @none
DELETE FROM one_time_tokens WHERE digest = decode(:digest, 'hex')
