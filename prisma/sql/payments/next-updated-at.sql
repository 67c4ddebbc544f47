-- The time of this change of an order: later than that of its last one.
greatest(:at, updated_at + interval '1 millisecond')
