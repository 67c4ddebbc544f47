-- Uses a recovery code. Of several requests, one gets the row.
-- @optional
DELETE FROM recovery_codes WHERE user_id = :user_id AND digest = decode(:digest, 'hex') RETURNING user_id
