-- When the current period of the subscription s began. A pause moves `period_start`, but not this.
coalesce(s.began_at, s.period_start)
