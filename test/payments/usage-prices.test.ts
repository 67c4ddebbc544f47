// The amounts of usage: a table that was calculated by hand, and properties of random quantities.
import fc from 'fast-check'
import t from 'tap'
import { requireValidUsage, usageAmount, type Tariff } from '../../services/payments/usage-prices.ts'

const none = { unit_amount: null, package_size: null, tiers: null }

/**
 * Reads a tariff. `0.5`: each unit. `300 per 1000`: each package. `graduated 100: 2, 1000: 1 + 50, 0.5`: each
 * tier with its bound, the amount of a unit and the flat amount; so is `volume`.
 */
function readTariff(text: string): Tariff {
  const [, model, tiers] = /^(graduated|volume) (.+)$/.exec(text) ?? []
  if (model === 'graduated' || model === 'volume') return { ...none, model, tiers: readTiers(tiers) }
  const [unitAmount, size] = text.split(' per ')
  return size === undefined
    ? { ...none, model: 'per_unit', unit_amount: unitAmount }
    : { ...none, model: 'package', unit_amount: unitAmount, package_size: size }
}

function readTiers(text: string): NonNullable<Tariff['tiers']> {
  return text.split(', ').map((tier) => {
    const [, bound = null, unitAmount, flat = '0'] = /^(?:(.+): )?(\S+)(?: \+ (\d+))?$/.exec(tier)!
    return { up_to: bound, unit_amount: unitAmount, flat_amount: Number(flat) }
  })
}

type Row = [tariff: string, quantity: string, amount: number, parts: string[]]

/** A part as `quantity × amount of a unit + flat amount`. */
function partsOf(tariff: Tariff, quantity: string): string[] {
  return usageAmount(tariff, quantity).parts.map(
    ({ quantity: units, unit_amount: amount, flat_amount: flat }) =>
      `${units} × ${amount}${flat === 0 ? '' : ` + ${flat}`}`,
  )
}

const graduated = 'graduated 100: 2, 1000: 1 + 50, 0.5 + 20'
const volume = 'volume 100: 2, 1000: 1 + 50, 0.5 + 20'

// The comment of a row has the sum before it is rounded, if that is not obvious.
const rows: Row[] = [
  // Each unit.
  ['0.5', '0', 0, []],
  ['0.5', '-3', 0, []],
  ['0.5', '1', 1, ['1 × 0.5']], // 0.5 is rounded up
  ['0.5', '2', 1, ['2 × 0.5']],
  ['0.5', '3', 2, ['3 × 0.5']], // 1.5
  ['0.499999999999', '1', 0, ['1 × 0.499999999999']],
  ['0', '1000', 0, ['1000 × 0']],
  ['7', '6', 42, ['6 × 7']],
  ['0.0002', '12500', 3, ['12500 × 0.0002']], // 2.5
  ['0.0002', '12499', 2, ['12499 × 0.0002']], // 2.4998
  ['0.1', '0.3', 0, ['0.3 × 0.1']], // 0.03
  ['33.3', '1.5', 50, ['1.5 × 33.3']], // 49.95
  ['0.000000000001', '500000000000', 1, ['500000000000 × 0.000000000001']], // 0.5
  ['0.000000000001', '499999999999.999999999999', 0, ['499999999999.999999999999 × 0.000000000001']],
  ['1', '99999999999999999999', 999_999_999_999, ['99999999999999999999 × 1']], // the maximum
  // 0.000000001 × 99999999999999999999 = 99999999999.999999999
  ['0.000000001', '99999999999999999999', 100_000_000_000, ['99999999999999999999 × 0.000000001']],
  // Each package that is begun.
  ['300 per 1000', '0', 0, []],
  ['300 per 1000', '1', 300, ['1 × 300']],
  ['300 per 1000', '1000', 300, ['1000 × 300']],
  ['300 per 1000', '1000.000000000001', 600, ['1000.000000000001 × 300']],
  ['300 per 1000', '2500', 900, ['2500 × 300']],
  ['0.4 per 10', '31', 2, ['31 × 0.4']], // 4 packages: 1.6
  ['1 per 0.25', '1', 4, ['1 × 1']],
  ['1 per 0.3', '1', 4, ['1 × 1']], // 3.33 packages
  // The units of each tier: 100 at 2, 900 at 1 and 50 once, the others at 0.5 and 20 once.
  [graduated, '0', 0, []],
  [graduated, '0.25', 1, ['0.25 × 2']], // 0.5
  [graduated, '100', 200, ['100 × 2']],
  [graduated, '100.5', 251, ['100 × 2', '0.5 × 1 + 50']], // 200 + 0.5 + 50 = 250.5
  [graduated, '101', 251, ['100 × 2', '1 × 1 + 50']],
  [graduated, '1000', 1150, ['100 × 2', '900 × 1 + 50']], // 200 + 900 + 50
  [graduated, '1001', 1171, ['100 × 2', '900 × 1 + 50', '1 × 0.5 + 20']], // 1150 + 0.5 + 20 = 1170.5
  [graduated, '3000', 2170, ['100 × 2', '900 × 1 + 50', '2000 × 0.5 + 20']], // 1150 + 1000 + 20
  ['graduated 1000: 0, 0.3', '1000', 0, ['1000 × 0']],
  ['graduated 1000: 0, 0.3', '1002', 1, ['1000 × 0', '2 × 0.3']], // 0.6
  ['graduated 10: 0.25, 0.25', '18', 5, ['10 × 0.25', '8 × 0.25']], // 2.5 + 2 = 4.5, rounded once
  ['graduated 4', '2.5', 10, ['2.5 × 4']],
  // All units at the price of one tier.
  [volume, '0', 0, []],
  [volume, '100', 200, ['100 × 2']],
  [volume, '100.000000000001', 150, ['100.000000000001 × 1 + 50']],
  [volume, '1000', 1050, ['1000 × 1 + 50']],
  [volume, '1001', 521, ['1001 × 0.5 + 20']], // 500.5 + 20 = 520.5
  ['volume 10: 1 + 5, 10 + 0', '10', 15, ['10 × 1 + 5']],
  ['volume 10: 1 + 5, 10 + 0', '11', 110, ['11 × 10']],
]

t.test('the amounts of the table', async (t) => {
  for (const [text, quantity, amount, parts] of rows) {
    const tariff = readTariff(text)
    t.equal(usageAmount(tariff, quantity).amount, amount, `${quantity} at ${text}`)
    t.same(partsOf(tariff, quantity), parts, `the parts of ${quantity} at ${text}`)
  }
})

t.test('an amount is a multiple of what card networks charge', async (t) => {
  // 12345 fils: the last digit is 0.
  t.equal(usageAmount(readTariff('1'), '12344', 10).amount, 12_340)
  t.equal(usageAmount(readTariff('1'), '12345', 10).amount, 12_350)
  t.equal(usageAmount(readTariff('1'), '12350', 100).amount, 12_400)
  t.equal(usageAmount(readTariff('1'), '1000000000000', 10).amount, 999_999_999_990)
})

/** A decimal with at most six digits before and twelve after the point. */
const decimals = fc
  .tuple(fc.nat(999_999), fc.bigInt(0n, 999_999_999_999n))
  .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(12, '0')}`)

const units = (decimal: string, scale = 12): bigint => {
  const [whole, fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

const tariffs: fc.Arbitrary<Tariff> = fc.oneof(
  decimals.map((amount): Tariff => ({ ...none, model: 'per_unit', unit_amount: amount })),
  fc.tuple(decimals, fc.nat(5000)).map(([amount, size]): Tariff => ({
    ...none,
    model: 'package',
    unit_amount: amount,
    package_size: String(size + 1),
  })),
  fc
    .record({
      model: fc.constantFrom('graduated' as const, 'volume' as const),
      bounds: fc.uniqueArray(fc.nat(999_998), { maxLength: 19 }),
      amounts: fc.array(fc.tuple(decimals, fc.nat(999)), { minLength: 20, maxLength: 20 }),
    })
    .map(({ model, bounds, amounts }): Tariff => {
      const sorted = bounds.sort((a, b) => a - b).map((bound): string | null => String(bound + 1))
      const tiers = [...sorted, null].map((bound, i) => ({
        up_to: bound,
        unit_amount: amounts[i][0],
        flat_amount: amounts[i][1],
      }))
      return { ...none, model, tiers }
    }),
)

t.test('the parts add up to the quantity and the amount', async (t) => {
  const sum = (terms: bigint[]): bigint => terms.reduce((a, b) => a + b, 0n)
  fc.assert(
    fc.property(tariffs, decimals, (tariff, quantity) => {
      const { amount, parts } = usageAmount(tariff, quantity)
      if (sum(parts.map((part) => units(part.quantity))) !== units(quantity)) return false
      const exact = sum(parts.map((part) => units(part.amount, 24)))
      const twice = 2n * BigInt(amount) * 10n ** 24n
      return (
        amount === 999_999_999_999 || (twice > 2n * exact - 10n ** 24n && twice <= 2n * exact + 10n ** 24n)
      )
    }),
    { numRuns: 2000 },
  )
  t.pass('2,000 tariffs and quantities')
})

t.test('more usage in graduated tiers never costs less', async (t) => {
  fc.assert(
    fc.property(tariffs, decimals, decimals, (tariff, a, b) => {
      if (tariff.model === 'volume') return true
      const [less, more] = units(a) < units(b) ? [a, b] : [b, a]
      return usageAmount(tariff, less).amount <= usageAmount(tariff, more).amount
    }),
    { numRuns: 1000 },
  )
  t.pass('1,000 pairs')
})

t.test('terms that do not fit their model are refused', async (t) => {
  const meter = { meter_id: 'mtr_01jd6y8m5qe8btc4y5w1r0n3fz' }
  const month = { interval: 'month', interval_count: 1, trial_days: 0 } as const
  const tier = (upTo: string | null) => ({ up_to: upTo, unit_amount: '1', flat_amount: 0 })
  const refused: Array<[string, object]> = [
    ['usage.unit_amount', { model: 'per_unit' }],
    ['usage.tiers', { model: 'per_unit', unit_amount: '1', tiers: [tier(null)] }],
    ['usage.package_size', { model: 'per_unit', unit_amount: '1', package_size: '2' }],
    ['usage.package_size', { model: 'package', unit_amount: '1' }],
    ['usage.package_size', { model: 'package', unit_amount: '1', package_size: '0.000' }],
    ['usage.unit_amount', { model: 'graduated', unit_amount: '1', tiers: [tier(null)] }],
    ['usage.tiers', { model: 'volume' }],
    ['usage.tiers[0].up_to', { model: 'volume', tiers: [tier('10')] }],
    ['usage.tiers[0].up_to', { model: 'volume', tiers: [tier(null), tier(null)] }],
    ['usage.tiers[0].up_to', { model: 'graduated', tiers: [tier('0'), tier(null)] }],
    ['usage.tiers[1].up_to', { model: 'graduated', tiers: [tier('9'), tier('9.0'), tier(null)] }],
    ['usage.tiers[1].up_to', { model: 'graduated', tiers: [tier('10'), tier('9.5'), tier(null)] }],
  ]
  for (const [field, usage] of refused)
    t.throws(
      () => requireValidUsage({ ...meter, ...usage } as never, month),
      { details: { field } } as never,
      `${field} of ${JSON.stringify(usage)}`,
    )
  const accepted = [
    { model: 'per_unit', unit_amount: '0' },
    { model: 'package', unit_amount: '1', package_size: '0.5' },
    { model: 'volume', tiers: [tier(null)] },
    { model: 'graduated', tiers: [tier('9.5'), tier('10'), tier(null)] },
  ]
  for (const usage of accepted)
    t.doesNotThrow(() => requireValidUsage({ ...meter, ...usage } as never, month))
})
