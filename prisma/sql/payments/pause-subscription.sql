-- Pauses a subscription, until :resumes_at if that is given.
-- @one
UPDATE subscriptions s SET status = 'paused', paused_at = :at, resumes_at = :resumes_at?, due_at = :resumes_at
WHERE id = :id RETURNING {owned-subscription-columns}
