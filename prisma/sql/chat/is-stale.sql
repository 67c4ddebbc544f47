-- Whether the process that generated a message is dead. `column` is the column heartbeat_at.
{column} < now() - make_interval(secs => :heartbeat_timeout_seconds)
