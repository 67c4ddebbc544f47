-- The time of a change of the document: later than that of the last one.
greatest(now(), updated_at + interval '1 millisecond')
