-- Whether the process that generates a message is alive. `column` is the column heartbeat_at.
{column} > now() - make_interval(secs => :heartbeat_timeout_seconds)
