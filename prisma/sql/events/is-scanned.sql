-- Whether the event `e` is in the part of the log that one read scans.
e.sequence > l.low AND e.sequence <= l.high
