-- Ends a reservation when its file is inserted: `lock-storage`, without the reservation or upload `id`.
-- @one
WITH ended AS (DELETE FROM storage_reservations WHERE id = :id?)
SELECT taken AS "taken!", used AS "used!" FROM lock_storage(:workspace_id, :id?)
