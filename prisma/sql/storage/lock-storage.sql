-- Makes the transactions that take storage in a workspace wait for each other. `taken`: the bytes of its files
-- and unfinished uploads. `used`: with reservations. The upload or reservation `besides` does not count.
-- @one
SELECT taken AS "taken!", used AS "used!" FROM lock_storage(:space_id, :besides?)
