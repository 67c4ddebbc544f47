// Timestamps that clients may compare.

/** Now, or a millisecond after `previous` if that is later: every change must move `updated_at`. */
export function timestampAfter(previous: Date): Date {
  return new Date(Math.max(Date.now(), previous.getTime() + 1))
}
