-- Forgets the wrong passwords of a network, after the right one.
-- @none
DELETE FROM sign_in_failures WHERE account = decode(:account, 'hex') AND network = :network
