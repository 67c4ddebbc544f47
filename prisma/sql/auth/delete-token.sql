-- Deletes a one-time token that nobody gets.
-- @none
DELETE FROM one_time_tokens WHERE digest = decode(:digest, 'hex')
