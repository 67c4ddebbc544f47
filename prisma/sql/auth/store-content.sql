-- Stores the content of an e-mail before it is sent, so that each attempt sends the same bytes.
-- @none
UPDATE mails SET subject = :subject, content = :content, secret = NULL WHERE id = :id
