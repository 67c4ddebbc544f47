-- The time of this change of a row: later than that of its last one.
greatest(now(), updated_at + interval '1 millisecond')
