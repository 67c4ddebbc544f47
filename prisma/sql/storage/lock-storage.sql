-- Makes the transactions that take storage in a workspace wait for each other. `taken`: the bytes of its
-- files and unfinished uploads. `used`: with reservations. `besides` is an upload or reservation that does
-- not count.
-- @one
SELECT taken AS "taken!", used AS "used!" FROM lock_storage(:workspace_id, :besides?)
