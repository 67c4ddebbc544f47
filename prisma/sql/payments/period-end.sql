-- The end of a period of the subscription s, whose first price is p. @argument period its number.
s.anchor_at + (p.interval_count * ({period} - s.anchor_period)) * ('1 ' || p.interval::text)::interval
