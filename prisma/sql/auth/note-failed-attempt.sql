-- Notes that an e-mail could not be sent yet.
-- @none
UPDATE mails SET attempts = attempts + 1, error = :error WHERE id = :id
