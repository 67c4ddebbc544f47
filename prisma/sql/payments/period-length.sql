-- The length of a number of billing periods of the price p.
(p.interval_count * {periods}) * ('1 ' || p.interval::text)::interval
