-- Whether every delivery to the endpoint `w` has failed for 30 seconds or longer. A single error between
-- successes does not count: each success resets `failing_since`.
coalesce(w.failing_since < now() - interval '30 seconds', false)
