-- Locks a user. After this lock, no other transaction can add the user to a project: the trigger
-- `members_require_existing_user` waits for the lock and then refuses a deleted user.
-- @optional
SELECT id FROM users WHERE id = :id FOR UPDATE
