-- An expression: the wrong passwords or codes from all networks that had one in the last day.
(SELECT coalesce(sum(f.failures), 0) FROM sign_in_failures f
  WHERE f.account = decode(:account, 'hex') AND f.failed_at > now() - interval '1 day')::int
