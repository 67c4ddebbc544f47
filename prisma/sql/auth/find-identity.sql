-- The user of an account at an identity provider.
-- @optional
SELECT i.user_id FROM identities i WHERE i.provider = :provider AND i.subject = :subject
