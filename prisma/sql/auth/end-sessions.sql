-- Ends the sessions of a user, all but one if it is named.
-- @many
DELETE FROM sign_ins s WHERE s.user_id = :user_id AND s.id IS DISTINCT FROM :except?
RETURNING {session-columns}
