-- The status of a link.
-- @optional
-- @type status Schemas['FileLink']['status']
SELECT {link-status} AS status FROM file_links l WHERE l.id = :id
