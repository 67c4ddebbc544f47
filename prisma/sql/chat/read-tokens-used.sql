-- The tokens that a user has used today, and those that answers in progress have reserved.
-- @one
SELECT {tokens-used} AS "tokens!"
