// Timestamps that a client may compare.

/**
 * Now, or a millisecond after `previous` if the clock has not moved past it: every change moves updated_at.
 */
export function timestampAfter(previous: Date): Date {
  return new Date(Math.max(Date.now(), previous.getTime() + 1))
}
