// Timestamps of updates.

/** Now, but at least a millisecond after `previous`: every change increases `updated_at`. */
export function timestampAfter(previous: Date, now = new Date()): Date {
  return new Date(Math.max(now.getTime(), previous.getTime() + 1))
}
