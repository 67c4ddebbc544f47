-- A recipient: the endpoint `w` of the user `u`, and the event `e`.
SELECT e.sequence, e.id AS event_id, e.created_at, e.traceparent, w.id, {is-failing} AS failing
