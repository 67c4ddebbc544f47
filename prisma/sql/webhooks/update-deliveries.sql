-- Appends attempts to deliveries, of which the last 20 are kept, and sets their status. An interrupted
-- attempt is null and does not count.
-- @none
UPDATE webhook_deliveries d SET
  status = o.status,
  tries = d.tries + (o.attempt IS NOT NULL)::int,
  attempts = CASE WHEN o.attempt IS NULL THEN d.attempts
    ELSE CASE WHEN jsonb_array_length(d.attempts) >= 20 THEN d.attempts - 0 ELSE d.attempts END
      || o.attempt END,
  request = coalesce(o.request, d.request),
  next_attempt_at = o.next
FROM unnest(:ids::text[], :statuses::"WebhookDeliveryStatus"[], :attempts[?]::jsonb[], :requests[?]::jsonb[],
    :nexts[?]::timestamptz[])
  AS o (id, status, attempt, request, next)
WHERE d.id = o.id
