// What a receipt says. Its page and its PDF are made of it.

/** What a receipt says, as text for people. */
export interface Receipt {
  seller: string
  number: string
  /** Days, in UTC. */
  orderedOn: string
  paidOn: string
  /** null where the gateway names no card. */
  paidBy: string | null
  items: { description: string; quantity: string; unitAmount: string; amount: string }[]
  total: string
  /** In the order in which they were given. */
  refunds: { on: string; amount: string }[]
  /** What is left of what was paid, where some was given back. */
  remaining: string | null
  /** What has to be said where no money moved; null where it did. */
  warning: string | null
  paidAt: Date
  updatedAt: Date
}
