-- Like `lock-organization`, but keeps only its members as they are.
-- @optional
SELECT id FROM organizations WHERE id = :id FOR SHARE
