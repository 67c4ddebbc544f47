-- The key that encrypts the cursors of the event log.
-- @one
SELECT cursor_key FROM event_log
