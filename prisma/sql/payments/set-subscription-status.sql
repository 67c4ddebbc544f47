-- Copies the status of a running subscription from its gateway.
-- @none
UPDATE subscriptions SET status = :status WHERE id = :id AND status NOT IN ('incomplete', 'canceled')
