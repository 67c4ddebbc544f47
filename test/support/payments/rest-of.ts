/** The rest of an amount in the period of a subscription, as of a moment, rounded half up. */
export function restOf(
  amount: number,
  { current_period_start: start, current_period_end: end }: any,
  at: string | number,
): number {
  const [from, to, now] = [start, end, at].map((time) => BigInt(new Date(time).getTime()))
  return Number((2n * BigInt(amount) * (to - now) + (to - from)) / (2n * (to - from)))
}
