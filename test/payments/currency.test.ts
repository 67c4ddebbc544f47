// Formatted amounts are exact in every currency and locale.
import fc from 'fast-check'
import t from 'tap'
import { exponentOf, formatAmount } from '../../services/payments/currency.ts'
import spec from '../../generated/openapi.json' with { type: 'json' }

const currencies: string[] = spec.components.schemas.Currency.enum
const digitsOf = (text: string): string => text.replace(/\D/g, '')

t.test('minor units follow ISO 4217', async (t) => {
  // ISO 4217:2015, table A.1, minor unit.
  const digits: Record<number, string> = {
    0: 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf',
    3: 'bhd iqd jod kwd lyd omr tnd',
    2: 'aud brl cad chf cny eur gbp huf inr mga mru mxn nok sek twd usd uyu zar',
  }
  for (const [exponent, codes] of Object.entries(digits))
    for (const code of codes.split(' ')) t.equal(exponentOf(code), Number(exponent), code)
  t.ok(currencies.length > 130)
  t.same(
    currencies.filter((code) => !Intl.supportedValuesOf('currency').includes(code.toUpperCase())),
    [],
    'the test covers every currency of the spec',
  )
})

t.test('amounts are formatted for people', async (t) => {
  const plain = (text: string): string => text.replace(/\s/g, ' ')
  const written: Array<[number, string, string | undefined, string]> = [
    [1999, 'eur', undefined, '€19.99'],
    [1999, 'jpy', undefined, '¥1,999'],
    [1999, 'kwd', undefined, 'KWD 1.999'],
    [5, 'usd', undefined, '$0.05'],
    [0, 'usd', undefined, '$0.00'],
    [1, 'kwd', undefined, 'KWD 0.001'],
    [100, 'isk', undefined, 'ISK 100'],
    [999_999_999_999, 'usd', undefined, '$9,999,999,999.99'],
    [123_456, 'eur', 'de', '1.234,56 €'],
  ]
  for (const [amount, currency, locale, text] of written)
    t.equal(plain(formatAmount(amount, currency, locale)), text)
})

t.test('formatting keeps every digit', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 999_999_999_999 }),
      fc.constantFrom(...currencies),
      fc.constantFrom('en', 'de', 'fr', 'ja'),
      (amount, currency, locale) => {
        const text = formatAmount(amount, currency, locale)
        const exponent = exponentOf(currency)
        return (
          digitsOf(text) === String(amount).padStart(exponent + 1, '0') &&
          (exponent === 0 || new RegExp(`[.,]\\d{${exponent}}(?!\\d)`).test(text))
        )
      },
    ),
    { numRuns: 2_000 },
  )
})
