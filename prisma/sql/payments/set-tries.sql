-- Sets the number of failed charges of the latest order of a subscription. No row if it was as high before.
-- @optional
UPDATE subscriptions SET tries = :tries WHERE id = :id AND tries < :tries RETURNING id
