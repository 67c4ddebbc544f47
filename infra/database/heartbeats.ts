// Heartbeats: a process renews what it holds in the database, so that what a crashed process held ends by
// itself.

/** Seconds after the last heartbeat of a process until it counts as dead. */
export const heartbeatTimeoutSeconds = 30
