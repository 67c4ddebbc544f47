// Timestamps of updates.

/** Now, but at least a millisecond after `previous`: every change increases `updated_at`. */
export function timestampAfter(previous: Date): Date {
  return new Date(Math.max(Date.now(), previous.getTime() + 1))
}
