// The content of a receipt. Both the HTML page and the PDF are rendered from it.

/** The content of a receipt; amounts and dates are formatted text. */
export interface Receipt {
  seller: string
  number: string
  /** Dates in UTC. */
  orderedOn: string
  paidOn: string
  /** null if the gateway does not report a card. */
  paidBy: string | null
  items: { description: string; quantity: string; unitAmount: string; amount: string }[]
  /** The part that a credit paid; null if none did. */
  credit: string | null
  total: string
  /** Oldest first. */
  refunds: { on: string; amount: string }[]
  /** The total after refunds; null if nothing was refunded. */
  remaining: string | null
  /** A warning if no money moved; else null. */
  warning: string | null
  paidAt: Date
  updatedAt: Date
}
