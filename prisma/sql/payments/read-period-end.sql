-- The end of a billing period of a price that starts at :start.
-- @one
SELECT :start::timestamptz + {period-length periods=1} AS "end!" FROM prices p WHERE p.id = :price_id
