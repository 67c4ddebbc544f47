// The sandbox: a gateway that moves no money. Its cards say what becomes of a payment; whatever else it does, it does as a real one.
import type { Gateway } from '../gateway.ts'
import type { Card } from '../subscriptions.ts'

/** What becomes of a payment by a card. */
export type Behaviour = 'succeeds' | 'needs_confirmation' | 'is_slow' | { declined: DeclineCode }
export type DeclineCode = 'card_declined' | 'insufficient_funds' | 'expired_card'

interface TestCard {
  number: string
  behaviour: Behaviour
  /** Whether it pays renewals too. */
  renews: boolean
  says: string
}

/** The only cards there are. Numbers that Stripe's test mode knows do the same here. */
export const testCards: TestCard[] = [
  { number: '4242424242424242', behaviour: 'succeeds', renews: true, says: 'pays' },
  { number: '5555555555554444', behaviour: 'succeeds', renews: true, says: 'pays, too' },
  {
    number: '4000002500003155',
    behaviour: 'needs_confirmation',
    renews: true,
    says: 'asks for a confirmation first',
  },
  {
    number: '4000000000000002',
    behaviour: { declined: 'card_declined' },
    renews: false,
    says: 'is declined',
  },
  {
    number: '4000000000009995',
    behaviour: { declined: 'insufficient_funds' },
    renews: false,
    says: 'has no money on it',
  },
  { number: '4000000000000069', behaviour: { declined: 'expired_card' }, renews: false, says: 'has expired' },
  { number: '4000000000000341', behaviour: 'succeeds', renews: false, says: 'pays once, and no renewal' },
  { number: '4000000000006976', behaviour: 'is_slow', renews: true, says: 'takes some seconds' },
]

/** The card of a number, however it is spaced; undefined for one that is no test card. */
export function testCard(number: string): TestCard | undefined {
  const digits = number.replace(/[\s-]/g, '')
  return testCards.find((card) => card.number === digits)
}

/** What is kept of a card. */
export function cardOf({ number, renews }: TestCard): Card {
  return { brand: number.startsWith('5') ? 'Mastercard' : 'Visa', last4: number.slice(-4), renews }
}

/** How long a slow card takes, in ms. */
export const slowness = 3_000

export const sandbox: Gateway = {
  name: 'sandbox',
  renews: true,
  page: null,
  requireAmount() {},
  // There is nobody to be told.
  async refund() {
    return 'succeeded'
  },
  async giveBack() {
    return 'returned'
  },
  async close() {},
  async follow() {},
}
