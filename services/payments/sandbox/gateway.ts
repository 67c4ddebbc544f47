// The sandbox gateway: no money moves. The test card decides the outcome of a payment; everything else works
// as with a real gateway.
import type { Gateway } from '../gateway.ts'
import type { NewCard } from '../payment-methods.ts'
import type { SandboxReason } from './disputes.ts'

/** The outcome of a payment by a test card. */
export type CardBehavior = 'succeeds' | 'needs_confirmation' | 'is_slow' | { declined: DeclineCode }
export type DeclineCode = 'card_declined' | 'insufficient_funds' | 'expired_card'

interface TestCard {
  number: string
  behavior: CardBehavior
  /** Whether the card also pays renewals. */
  renews: boolean
  /** Why the customer disputes a payment on the payment page. */
  dispute?: SandboxReason
  /** Shown on the payment page. */
  description: string
}

/** All test cards. Those that exist in Stripe's test mode behave the same here. */
export const testCards: TestCard[] = [
  { number: '4242424242424242', behavior: 'succeeds', renews: true, description: 'Succeeds' },
  { number: '5555555555554444', behavior: 'succeeds', renews: true, description: 'Succeeds (Mastercard)' },
  {
    number: '4000002500003155',
    behavior: 'needs_confirmation',
    renews: true,
    description: 'Asks for confirmation',
  },
  {
    number: '4000000000000002',
    behavior: { declined: 'card_declined' },
    renews: false,
    description: 'Declined',
  },
  {
    number: '4000000000009995',
    behavior: { declined: 'insufficient_funds' },
    renews: false,
    description: 'Declined: insufficient funds',
  },
  {
    number: '4000000000000069',
    behavior: { declined: 'expired_card' },
    renews: false,
    description: 'Declined: expired card',
  },
  {
    number: '4000000000000341',
    behavior: 'succeeds',
    renews: false,
    description: 'Succeeds; renewals are declined',
  },
  {
    number: '4000000000006976',
    behavior: 'is_slow',
    renews: true,
    description: 'Succeeds after a few seconds',
  },
  {
    number: '4000000000000259',
    behavior: 'succeeds',
    renews: true,
    dispute: 'fraudulent',
    description: 'Succeeds; disputed as fraudulent, and lost after a week',
  },
  {
    number: '4000000000002685',
    behavior: 'succeeds',
    renews: true,
    dispute: 'product_not_received',
    description: 'Succeeds; disputed as not received, and won after two weeks',
  },
  {
    number: '4000000000001976',
    behavior: 'succeeds',
    renews: true,
    dispute: 'general',
    description: 'Succeeds; the bank inquires, and closes the inquiry after a week',
  },
]

/** Finds a test card by its number; spaces and hyphens are ignored. */
export function findTestCard(number: string): TestCard | undefined {
  const digits = number.replace(/[\s-]/g, '')
  return testCards.find((card) => card.number === digits)
}

/** When a card expires. */
export interface CardExpiry {
  month: number
  year: number
}

/** What a payment stores of its card. */
export interface SandboxCard {
  brand: string
  last4: string
  /** Whether the card pays renewals. */
  renews: boolean
  exp_month?: number
  exp_year?: number
}

/** The card as it is stored for its customer. Of the test cards, no two of a brand end in the same digits. */
export function toNewCard(card: SandboxCard): NewCard {
  const { brand, last4, renews, exp_month: expMonth = null, exp_year: expYear = null } = card
  const fingerprint = `${brand} ${last4}`
  return { gateway: 'sandbox', reference: null, fingerprint, brand, last4, renews, expMonth, expYear }
}

/** The details of a card that are stored. */
export function toStoredCard({ number, renews }: TestCard, { month, year }: CardExpiry): SandboxCard {
  const brand = number.startsWith('5') ? 'Mastercard' : 'Visa'
  return { brand, last4: number.slice(-4), renews, exp_month: month, exp_year: year }
}

/** How long a payment by the slow card takes. */
export const slowCardDelayMs = 3_000

export const sandbox: Gateway = {
  name: 'sandbox',
  paymentPageUrl: null,
  requireAmount() {},
  minimumOf: () => 0,
  async charge(_tx, _payment, { renews }) {
    return renews ? 'succeeded' : { failed: 'card_declined' }
  },
  async refund() {
    return 'succeeded'
  },
  async refundLatePayment() {
    return 'returned'
  },
  // No remote state to update.
  async closeCheckout() {},
  async syncCancellation() {},
}
