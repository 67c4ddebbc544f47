// Prorations: a table of changes that were calculated by hand, and random sequences of changes and renewals
// whose amounts must add up. Rules: https://docs.stripe.com/billing/subscriptions/prorations
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { exponentOf } from '../../services/payments/currency.ts'
import { quoteChange, type Plan, type Proration } from '../../services/payments/proration.ts'
import type { OrderLine } from '../../services/payments/orders.ts'
import type { Period } from '../../services/payments/subscriptions.ts'

const sumOf = (amounts: number[]): number => amounts.reduce((sum, amount) => sum + amount, 0)
const amountsOf = (lines: OrderLine[]): number[] => lines.map(({ amount }) => amount)

function planOf(currency: string, interval: string, items: Array<Omit<OrderLine, 'amount'>>): Plan {
  const lines = items.map((item) => ({ ...item, amount: item.unitAmount * item.quantity }))
  return { lines, currency: currency as Plan['currency'], total: sumOf(amountsOf(lines)), interval }
}

/**
 * Reads a plan such as `1000 + 3×500`, or `9000/year` for an interval other than a month. Each text of a
 * price is another price: `1000` and `1000b` have the same amount.
 */
function readPlan(currency: string, text: string): Plan {
  const items = text.split(' + ').map((item) => {
    const [, quantity = '1', priceId] = /^(?:(\d+)×)?(.+)$/.exec(item)!
    return { priceId, productName: 'Basic', quantity: Number(quantity), unitAmount: parseInt(priceId) }
  })
  return planOf(currency, `1 ${/\/(\w+)/.exec(text)?.[1] ?? 'month'}`, items)
}

type Row = [
  ...period: [start: string, end: string],
  ...change: [at: string, from: string, to: string, proration: Proration],
  ...expected: [credit: number, lines: number[], owed: number, restarts: boolean],
]

// The comment of each row calculates the credit; then the lines. Fractions are the time that is left / the
// length of the period, in days unless the comment names another unit.
function testChanges(title: string, currency: string, rows: Row[], { trialing = false } = {}): void {
  t.test(title, async (t) => {
    for (const [start, end, instant, from, to, proration, unused, lines, owed, restarts] of rows) {
      const period = { start: new Date(start), end: new Date(end) }
      const terms = { period, at: new Date(instant), proration, trialing }
      const quote = quoteChange(readPlan(currency, from), readPlan(currency, to), terms)
      const { lines: charged, uncredited: _none, ...rest } = quote
      const name = `${from} to ${to} on ${instant}, ${proration}`
      t.same({ ...rest, lines: amountsOf(charged) }, { unused, owed, restarts, lines }, name)
      for (const line of charged) t.equal(line.unitAmount * line.quantity, line.amount, name)
    }
  })
}

testChanges('upgrades', 'eur', [
  // 30 days: 1000 × 15/30 = 500; 2000 × 15/30 = 1000
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000', '2000', 'now', 500, [1000], 0, false],
  // 31 days: 1000 × 21/31 = 677.42; 2500 × 21/31 = 1693.55
  ['2026-05-01', '2026-06-01', '2026-05-11', '1000', '2500', 'now', 677, [1694], 0, false],
  // 28 days: 1999 × 21/28 = 1499.25; 4999 × 21/28 = 3749.25
  ['2026-02-01', '2026-03-01', '2026-02-08', '1999', '4999', 'now', 1499, [3749], 0, false],
  // 29 days: 1000 × 19/29 = 655.17; 3000 × 19/29 = 1965.52
  ['2028-02-01', '2028-03-01', '2028-02-11', '1000', '3000', 'now', 655, [1966], 0, false],
  // Halves are rounded up: 999 × 15/30 = 499.5; 1001 × 15/30 = 500.5
  ['2026-04-01', '2026-05-01', '2026-04-16', '999', '1001', 'now', 500, [501], 0, false],
  // The start of the period: 1999 × 30/30 = 1999; 2999 × 30/30 = 2999
  ['2026-04-01', '2026-05-01', '2026-04-01', '1999', '2999', 'now', 1999, [2999], 0, false],
  // The end of the period: 1999 × 0/30 = 0; 2999 × 0/30 = 0
  ['2026-04-01', '2026-05-01', '2026-05-01', '1999', '2999', 'now', 0, [0], 0, false],
  // Hours: 1000 × 348/720 = 483.33; 2000 × 348/720 = 966.67
  ['2026-04-01', '2026-05-01', '2026-04-16T12:00Z', '1000', '2000', 'now', 483, [967], 0, false],
  // Milliseconds: 1000 × 1/2592000000 = 0.0000004; 999999999999 × 1/2592000000 = 385.80
  ['2026-04-01', '2026-05-01', '2026-04-30T23:59:59.999Z', '1000', '999999999999', 'now', 0, [386], 0, false],
])

testChanges('downgrades', 'eur', [
  // 2000 × 15/30 = 1000; 1000 × 15/30 = 500
  ['2026-04-01', '2026-05-01', '2026-04-16', '2000', '1000', 'now', 1000, [500], 0, false],
  // 3100 × 1/31 = 100; 310 × 1/31 = 10
  ['2026-01-01', '2026-02-01', '2026-01-31', '3100', '310', 'now', 100, [10], 0, false],
  // 5000 × 1/28 = 178.57; 2000 × 1/28 = 71.43
  ['2026-02-01', '2026-03-01', '2026-02-28', '5000', '2000', 'now', 179, [71], 0, false],
  // Hours: 4999 × 162/744 = 1088.49; 1999 × 162/744 = 435.27
  ['2026-12-01', '2027-01-01', '2026-12-25T06:00Z', '4999', '1999', 'now', 1088, [435], 0, false],
  // From paid to free: 2000 × 10/30 = 666.67; 0 × 10/30 = 0
  ['2026-04-01', '2026-05-01', '2026-04-21', '2000', '0', 'now', 667, [0], 0, false],
  // Another price of the same amount: 1000 × 20/30 = 666.67; 1000 × 20/30 = 666.67
  ['2026-04-01', '2026-05-01', '2026-04-11', '1000', '1000b', 'now', 667, [667], 0, false],
])

testChanges('quantities', 'eur', [
  // 1 × 500 × 15/30 = 250; 3 × 500 × 15/30 = 750
  ['2026-04-01', '2026-05-01', '2026-04-16', '1×500', '3×500', 'now', 250, [750], 0, false],
  // 5 × 700 × 21/31 = 2370.97; 2 × 700 × 21/31 = 948.39
  ['2026-05-01', '2026-06-01', '2026-05-11', '5×700', '2×700', 'now', 2371, [948], 0, false],
  // The line is rounded, not the unit: 3 × 333 × 14/28 = 499.5; 7 × 333 × 14/28 = 1165.5
  ['2026-02-01', '2026-03-01', '2026-02-15', '3×333', '7×333', 'now', 500, [1166], 0, false],
  // 2 × 1500 × 4/29 = 413.79; 4 × 1200 × 4/29 = 662.07
  ['2028-02-01', '2028-03-01', '2028-02-26', '2×1500', '4×1200', 'now', 414, [662], 0, false],
  // Nothing changes
  ['2026-04-01', '2026-05-01', '2026-04-16', '2×500', '2×500', 'now', 0, [], 0, false],
])

testChanges('an item that stays is neither credited nor charged', 'eur', [
  // 1000 × 15/30 = 500; 2000 × 15/30 = 1000
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000 + 3×500', '2000 + 3×500', 'now', 500, [1000], 0, false],
  // An item is removed: 500 × 21/31 = 338.71
  ['2026-05-01', '2026-06-01', '2026-05-11', '1000 + 500', '1000', 'now', 339, [], 0, false],
  // An item is added: 0; 250 × 21/28 = 187.5
  ['2026-02-01', '2026-03-01', '2026-02-08', '1000', '1000 + 250', 'now', 0, [188], 0, false],
  // 777 × 15/30 = 388.5; 555 × 15/30 = 277.5, 333 × 15/30 = 166.5
  [
    '2026-04-01',
    '2026-05-01',
    '2026-04-16',
    '999 + 777',
    '999 + 555 + 333',
    'now',
    389,
    [278, 167],
    0,
    false,
  ],
  // No item stays: 101 × 15/30 = 50.5, 103 × 15/30 = 51.5; 107 × 15/30 = 53.5, 109 × 15/30 = 54.5
  ['2026-04-01', '2026-05-01', '2026-04-16', '101 + 103', '107 + 109', 'now', 51 + 52, [54, 55], 0, false],
])

testChanges('another interval restarts the period', 'eur', [
  // Month to year: 1000 × 15/30 = 500; 10000
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000', '10000/year', 'now', 500, [10000], 0, true],
  // Year of 365 days to month: 12000 × 292/365 = 9600; 1200
  ['2026-01-01', '2027-01-01', '2026-03-15', '12000/year', '1200', 'now', 9600, [1200], 0, true],
  // Year of 366 days to month: 12000 × 306/366 = 10032.79; 1200
  ['2028-01-01', '2029-01-01', '2028-03-01', '12000/year', '1200', 'now', 10033, [1200], 0, true],
  // Week to month: 700 × 4/7 = 400; 2500
  ['2026-04-06', '2026-04-13', '2026-04-09', '700/week', '2500', 'now', 400, [2500], 0, true],
  // Month to week: 3100 × 21/31 = 2100; 700
  ['2026-05-01', '2026-06-01', '2026-05-11', '3100', '700/week', 'now', 2100, [700], 0, true],
  // 3 × 1000 × 15/30 = 1500, 505 × 15/30 = 252.5; 3 × 9000 = 27000
  ['2026-04-01', '2026-05-01', '2026-04-16', '3×1000 + 505', '3×9000/year', 'now', 1753, [27000], 0, true],
  // Without proration nothing is credited: 0; 10000
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000', '10000/year', 'none', 0, [10000], 0, true],
  // A new period is charged now: 1000 × 15/30 = 500; 10000
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000', '10000/year', 'next_period', 500, [10000], 0, true],
])

testChanges('years', 'eur', [
  // 366 days: 36600 × 1/366 = 100; 73200 × 1/366 = 200
  ['2027-03-01', '2028-03-01', '2028-02-29', '36600/year', '73200/year', 'now', 100, [200], 0, false],
  // Hours: 9999 × 4380/8760 = 4999.5; 999 × 4380/8760 = 499.5
  ['2026-01-01', '2027-01-01', '2026-07-02T12:00Z', '9999/year', '999/year', 'now', 5000, [500], 0, false],
])

testChanges('from free to paid restarts the period', 'eur', [
  // 0; 1000
  ['2026-04-01', '2026-05-01', '2026-04-16', '0', '1000', 'now', 0, [1000], 0, true],
  ['2026-04-01', '2026-05-01', '2026-04-16', '0', '1000', 'next_period', 0, [1000], 0, true],
  ['2026-04-01', '2026-05-01', '2026-04-16', '0', '1000', 'none', 0, [1000], 0, true],
  // Only one item was free: 0 × 15/30 = 0, 1000 × 15/30 = 500; 2000 × 15/30 = 1000
  ['2026-04-01', '2026-05-01', '2026-04-16', '0 + 1000', '2000', 'now', 500, [1000], 0, false],
])

const trialRows: Row[] = [
  // A trial costs 0
  ['2026-04-01', '2026-04-15', '2026-04-08', '1000', '2000', 'now', 0, [], 0, false],
  ['2026-04-01', '2026-04-15', '2026-04-08', '1000', '10000/year', 'now', 0, [], 0, false],
  ['2026-04-01', '2026-04-15', '2026-04-08', '2000', '1000', 'next_period', 0, [], 0, false],
]
testChanges('a change in a trial costs nothing', 'eur', trialRows, { trialing: true })

testChanges('the next period pays the difference', 'eur', [
  // 1000 × 15/30 = 500; 2000 × 15/30 = 1000; 1000 - 500 = 500 are owed
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000', '2000', 'next_period', 0, [], 500, false],
  // 2000 × 15/30 = 1000; 1000 × 15/30 = 500; 1000 - 500 = 500 are credited
  ['2026-04-01', '2026-05-01', '2026-04-16', '2000', '1000', 'next_period', 500, [], 0, false],
  // 3 × 333 × 14/28 = 499.5; 7 × 333 × 14/28 = 1165.5; 1166 - 500 = 666 are owed
  ['2026-02-01', '2026-03-01', '2026-02-15', '3×333', '7×333', 'next_period', 0, [], 666, false],
  // 500 × 21/31 = 338.71 are credited
  ['2026-05-01', '2026-06-01', '2026-05-11', '1000 + 500', '1000', 'next_period', 339, [], 0, false],
])

testChanges('without proration the new prices count from the next period', 'eur', [
  // 0
  ['2026-04-01', '2026-05-01', '2026-04-16', '1000', '2000', 'none', 0, [], 0, false],
  ['2026-04-01', '2026-05-01', '2026-04-16', '5×500', '2×500', 'none', 0, [], 0, false],
])

testChanges('currencies without digits', 'jpy', [
  // 1500 × 15/30 = 750; 3001 × 15/30 = 1500.5
  ['2026-04-01', '2026-05-01', '2026-04-16', '1500', '3001', 'now', 750, [1501], 0, false],
  // 980 × 21/31 = 663.87; 1980 × 21/31 = 1341.29
  ['2026-05-01', '2026-06-01', '2026-05-11', '980', '1980', 'now', 664, [1341], 0, false],
  // 5000 × 18/28 = 3214.29; 1200 × 18/28 = 771.43
  ['2026-02-01', '2026-03-01', '2026-02-11', '5000', '1200', 'now', 3214, [771], 0, false],
  // 3 × 333 × 15/30 = 499.5; 333 × 15/30 = 166.5; 500 - 167 = 333 are credited
  ['2026-04-01', '2026-05-01', '2026-04-16', '3×333', '333', 'next_period', 333, [], 0, false],
])

testChanges('currencies with three digits are rounded to 10', 'kwd', [
  // 1010 × 15/30 = 505; 2030 × 15/30 = 1015
  ['2026-04-01', '2026-05-01', '2026-04-16', '1010', '2030', 'now', 510, [1020], 0, false],
  // 1000 × 21/31 = 677.42; 2500 × 21/31 = 1693.55
  ['2026-05-01', '2026-06-01', '2026-05-11', '1000', '2500', 'now', 680, [1690], 0, false],
  // Hours: 3000 × 1/696 = 4.31; 6000 × 1/696 = 8.62
  ['2028-02-01', '2028-03-01', '2028-02-29T23:00Z', '3000', '6000', 'now', 0, [10], 0, false],
  // 1010 × 15/30 = 505; 2030 × 15/30 = 1015; 1020 - 510 = 510 are owed
  ['2026-04-01', '2026-05-01', '2026-04-16', '1010', '2030', 'next_period', 0, [], 510, false],
])

testChanges('periods from the 31st', 'eur', [
  // 28 days: 1000 × 14/28 = 500; 3000 × 14/28 = 1500
  ['2026-01-31', '2026-02-28', '2026-02-14', '1000', '3000', 'now', 500, [1500], 0, false],
  // 31 days: 1000 × 21/31 = 677.42; 3000 × 21/31 = 2032.26
  ['2026-02-28', '2026-03-31', '2026-03-10', '1000', '3000', 'now', 677, [2032], 0, false],
  // 29 days: 1000 × 20/29 = 689.66; 3000 × 20/29 = 2068.97
  ['2028-01-31', '2028-02-29', '2028-02-09', '1000', '3000', 'now', 690, [2069], 0, false],
  // 30 days: 1000 × 10/30 = 333.33; 3000 × 10/30 = 1000
  ['2026-03-31', '2026-04-30', '2026-04-20', '1000', '3000', 'now', 333, [1000], 0, false],
])

t.test(
  'a prorated line names the units and the time, a line of a new period is that of the plan',
  async (t) => {
    const period = { start: new Date('2026-04-01'), end: new Date('2026-05-01') }
    const terms = { period, at: new Date('2026-04-16'), proration: 'now', trialing: false } as const
    const from = readPlan('eur', '1000')
    const prorated = (priceId: string, productName: string, unitAmount: number): OrderLine[] => [
      { priceId, productName, quantity: 1, unitAmount, amount: unitAmount },
    ]
    const linesTo = (to: string): OrderLine[] => quoteChange(from, readPlan('eur', to), terms).lines
    t.same(linesTo('2000'), prorated('2000', 'Basic, 2026-04-16 to 2026-05-01', 1000))
    t.same(linesTo('3×500'), prorated('500', 'Basic (3), 2026-04-16 to 2026-05-01', 750))
    t.same(linesTo('3×9000/year'), readPlan('eur', '3×9000/year').lines)
  },
)

t.test(
  'a returned payment is not credited; what is left of it lowers the credit of what stays',
  async (t) => {
    const period = { start: new Date('2026-04-01'), end: new Date('2026-05-01') }
    const quote = (from: string, to: string, returned: number) => {
      const terms = {
        period,
        at: new Date('2026-04-16'),
        proration: 'now',
        trialing: false,
        returned,
      } as const
      const { unused, uncredited } = quoteChange(readPlan('eur', from), readPlan('eur', to), terms)
      return { unused, uncredited }
    }
    t.same(quote('1000 + 5000', '5000', 6000), { unused: 0, uncredited: 3500 }, '2500 of what stays')
    t.same(quote('1000 + 5000', '5000', 200), { unused: 300, uncredited: 200 })
    t.same(quote('1000 + 5000', '2000', 6000), { unused: 0, uncredited: 6000 }, 'nothing stays')
  },
)

/** The time from `start` to `end` of a period, whose lines are paid. */
interface Segment {
  lines: OrderLine[]
  period: Period
  start: Date
  end: Date
}

/** The cost of a segment: what its lines cost from its start, without what they cost from its end. */
function costOf({ lines, period, start, end }: Segment, step: bigint): number {
  const length = BigInt(+period.end - +period.start)
  const costFrom = ({ amount }: OrderLine, at: Date): number => {
    const exact = BigInt(amount) * BigInt(+period.end - +at)
    const unit = length * step
    return Number((exact / unit + (2n * (exact % unit) >= unit ? 1n : 0n)) * step)
  }
  return sumOf(lines.map((line) => costFrom(line, start) - costFrom(line, end)))
}

const days = { week: 7, month: 31, year: 366 }

/** A subscription, whose customer pays with credit first. */
class ModelSubscription {
  paid = 0
  credit = 0
  owed = 0
  period: Period
  segments: Segment[] = []
  /** The plan of the next period. */
  next: Plan
  /** The plan that the period is paid for: a change without proration counts from the next period. */
  current: Plan
  trialing: boolean

  constructor(plan: Plan, start: Date, trialing: boolean) {
    this.current = this.next = plan
    this.trialing = trialing
    this.period = this.#periodFrom(start)
    if (trialing) return
    this.#pay(plan.total)
    this.#addSegment(plan, start)
  }

  renew(): void {
    this.#pay(this.next.total + this.owed)
    this.owed = 0
    this.current = this.next
    this.trialing = false
    this.period = this.#periodFrom(this.period.end)
    this.#addSegment(this.current, this.period.start)
  }

  change(to: Plan, proration: Proration, at: Date): void {
    const { period, trialing } = this
    const { lines, unused, owed, restarts } = quoteChange(this.current, to, {
      period,
      at,
      proration,
      trialing,
    })
    this.#pay(sumOf(amountsOf(lines)), unused)
    this.owed += owed
    this.next = to
    if (trialing) this.current = to
    if (trialing || (proration === 'none' && !restarts)) return
    this.current = to
    if (proration !== 'none') this.segments.at(-1)!.end = at
    if (restarts) this.period = this.#periodFrom(at)
    this.#addSegment(to, at)
  }

  /** Credit for unused time pays first, then the credit of the customer. */
  #pay(amount: number, unused = 0): void {
    const spent = Math.min(unused, amount)
    const held = Math.min(this.credit, amount - spent)
    this.credit += unused - spent - held
    this.paid += amount - spent - held
  }

  #periodFrom(start: Date): Period {
    const length = days[this.next.interval!.slice(2) as keyof typeof days]
    return { start, end: new Date(+start + length * 86_400_000) }
  }

  #addSegment({ lines }: Plan, start: Date): void {
    this.segments.push({ lines, period: this.period, start, end: this.period.end })
  }
}

// Multiples of 10, for currencies with three digits.
const unitAmounts = [0, 10, 70, 3330, 9990, 19_990, 1_234_570]

function anyPlan(currency: string): fc.Arbitrary<Plan> {
  const item = fc.record({
    unitAmount: fc.constantFrom(...unitAmounts),
    quantity: fc.integer({ min: 1, max: 4 }),
  })
  const items = fc.uniqueArray(item, { minLength: 1, maxLength: 3, selector: ({ unitAmount }) => unitAmount })
  const intervals = fc.constantFrom('1 week', '1 month', '1 month', '1 year')
  return fc.tuple(intervals, items).map(([interval, chosen]) =>
    planOf(
      currency,
      interval,
      chosen.map((each) => ({ ...each, priceId: `${each.unitAmount}/${interval}`, productName: 'Basic' })),
    ),
  )
}

const anyLife = fc.constantFrom('eur', 'jpy', 'kwd').chain((currency) => {
  const plan = anyPlan(currency)
  const proration = fc.constantFrom<Proration>('now', 'now', 'next_period', 'none')
  // When the change is made, in millionths of the period. Renewals come before it if that is after its end.
  const part = fc.oneof(fc.integer({ min: 0, max: 2_000_000 }), fc.constantFrom(0, 1_000_000))
  const changes = fc.array(fc.record({ plan, proration, part }), { minLength: 1 })
  return fc.record({ plan, trialing: fc.boolean(), changes })
})

// A failure prints its seed, and its shortest sequence.
t.test('payments and owed amounts, less credit, are the cost of the time', async () => {
  fc.assert(
    fc.property(anyLife, ({ plan: first, trialing, changes }) => {
      const step = exponentOf(first.currency) === 3 ? 10n : 1n
      const model = new ModelSubscription(first, new Date('2026-01-31'), trialing)
      let at = model.period.start
      for (const { plan, proration, part } of changes) {
        const { start, end } = model.period
        at = new Date(Math.max(+at, Math.round(+start + ((+end - +start) * part) / 1_000_000)))
        while (model.period.end < at) model.renew()
        model.change(plan, proration, at)
        const { paid, credit, owed, segments } = model
        assert.equal(paid + owed - credit, sumOf(segments.map((segment) => costOf(segment, step))))
        assert.ok(Math.min(paid, credit, owed) >= 0)
      }
    }),
    { numRuns: 10_000 },
  )
})
