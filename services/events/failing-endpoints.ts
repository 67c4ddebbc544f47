// SQL that events and webhooks share: which webhook endpoints are failing. Deliveries to them have a queue
// lane of their own.

/**
 * SQL condition: every delivery to the endpoint `w` has failed for 30 seconds or longer. A single error
 * between successes does not count: each success resets `failing_since`.
 */
export const isFailingSql = "coalesce(w.failing_since < now() - interval '30 seconds', false)"
