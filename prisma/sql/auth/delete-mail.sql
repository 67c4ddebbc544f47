-- Deletes an e-mail that nobody gets.
-- @none
DELETE FROM mails WHERE id = :id
