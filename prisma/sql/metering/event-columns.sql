-- The columns of an event, from usage_events e.
e.id, e.meter_id, e.customer_id, e.at, trim_scale(e.quantity)::text AS quantity, e.voided_at
