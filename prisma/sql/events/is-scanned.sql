-- Whether the event `e` is in the part of the log that one read scans, from event_log l.
e.sequence > :after AND e.sequence <= greatest(:after, l.removed_through) + :max_scan
