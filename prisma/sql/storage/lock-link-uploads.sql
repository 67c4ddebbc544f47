-- Locks the unfinished uploads of an upload link until the transaction ends.
-- @many
SELECT {upload-columns} FROM uploads u WHERE u.upload_link_id = :link_id AND u.file_id IS NULL
ORDER BY u.id
FOR UPDATE
