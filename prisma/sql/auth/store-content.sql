-- Stores what an e-mail says, before it is sent: each attempt sends the same.
-- @none
UPDATE mails SET subject = :subject, content = :content, secret = NULL WHERE id = :id
