-- How many uploads of an upload link are unfinished. `link` is the id of the link.
(SELECT count(*) FROM uploads o
 WHERE o.upload_link_id = {link} AND o.file_id IS NULL AND o.expires_at > now())::int
