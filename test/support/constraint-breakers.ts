// Values that break one constraint and, as far as construction can tell, no other: several for each, the likeliest first.
import { flattened } from '../../scripts/constraints/constraints.ts'
import { drawnFrom, sampleOf, textsOf, typesOf, variantsOf } from './constraint-samples.ts'
import type { Site } from './constraint-sites.ts'

type Json = any

/** What a candidate does: puts another value where the constraint looks, or takes that away. */
export type Breaker = { value: Json } | { remove: true } | { key: string; value: Json }

/** A name that no schema knows. */
export const unknownName = 'unknown_name'

/** @param now what stands there and is allowed. */
export function breakersOf(
  document: Json,
  { constraint: { keyword, name }, schema }: Site,
  now: Json,
): Breaker[] {
  const flat = flattened(document, schema)
  const limit = flat[keyword]
  const values = (...all: Json[]): Breaker[] => all.map((value) => ({ value }))
  switch (keyword) {
    case 'type':
      return values(...othersThan(limit))
    case 'enum':
      return values(
        ...(typesOf(flat).includes('integer')
          ? [Math.max(...limit) + 1, Math.min(...limit) - 1]
          : [`${now}x`, 'none_of_these', 'x']),
        !now,
      )
    case 'const':
      return values(
        ...(typeof limit === 'boolean' ? [!limit] : typeof limit === 'number' ? [limit + 1] : [`${limit}x`]),
        0,
      )
    case 'pattern':
      return values(...textsAgainst(flat, now))
    case 'format':
      return values(
        ...texts(flat, [
          'none',
          'none of this form',
          'https://not a uri',
          'http://[',
          '2026-02-31T00:00:00Z',
          'Mars/Base',
          'x@',
          `${now} `,
        ]),
      )
    case 'minLength':
      return values(...shorter(flat, now, limit - 1))
    case 'maxLength':
      return values(...longer(flat, now, limit + 1))
    case 'minimum':
      return values(limit - 1, limit - 0.5)
    case 'maximum':
      return values(limit + 1, limit + 0.5)
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return values(limit)
    case 'multipleOf':
      return values(limit * 2 + limit / 2, limit * 2 + 1)
    case 'minItems':
      return values((now as Json[]).slice(0, limit - 1))
    case 'maxItems':
      return values(variantsOf(document, flat.items ?? {}, limit + 1))
    case 'uniqueItems': {
      const [one] = now.length > 0 ? now : variantsOf(document, flat.items ?? {}, 1)
      return values([one, one])
    }
    case 'minProperties':
      return values(Object.fromEntries(Object.entries(now).slice(0, limit - 1)))
    case 'maxProperties':
      return values(
        Object.fromEntries(
          Array.from({ length: limit + 1 }, (_, i) => [
            `key${i}`,
            sampleOf(document, flat.additionalProperties ?? {}),
          ]),
        ),
      )
    case 'required':
      return name === undefined
        ? [{ remove: true }]
        : [{ value: Object.fromEntries(Object.entries(now).filter(([key]) => key !== name)) }]
    case 'additionalProperties':
      return limit === false ? [{ value: { ...now, [unknownName]: 'x' } }] : []
    case 'oneOf':
      return values({ ...sampleOf(document, flat, 1), ...now }, {})
    // What holds other schemas is broken by breaking one of these.
    default:
      return []
  }
}

function othersThan(limit: string | string[]): Json[] {
  const allowed = [limit].flat()
  const of: Array<[string, Json]> = [
    ['string', 'x'],
    ['integer', 42],
    ['boolean', true],
    ['number', 1.5],
    ['array', []],
    ['object', {}],
    ['null', null],
  ]
  return of
    .filter(
      ([type]) =>
        !allowed.includes(type) &&
        !(type === 'integer' && allowed.includes('number')) &&
        !(type === 'number' && false),
    )
    .map(([, value]) => value)
}

/** First what also has the right length. */
function texts({ minLength = 0, maxLength = Infinity }: Json, all: string[]): string[] {
  const fits = (text: string): boolean => text.length >= minLength && text.length <= maxLength
  return [...all.filter(fits), ...all.filter((text) => !fits(text))]
}

const strangers = ['!', ' ', '\t', 'Ü', '_', '/', '\\', '~', 'X', '\u0001', '@']

/** Texts that the pattern does not allow, near to one that it does. */
function textsAgainst(flat: Json, now: string): string[] {
  const expression = new RegExp(flat.pattern, 'u')
  const near = strangers.flatMap((stranger) => [
    now + stranger,
    stranger + now.slice(1),
    stranger + now,
    now.slice(0, -1) + stranger,
  ])
  const plain = [
    'x',
    'none',
    'ftp://example.com',
    '..',
    'a/../b',
    '!',
    'NONE',
    '-',
    ...strangers.map((stranger) => `a${stranger}b`),
  ]
  const blank = [' ', '  ', ' '.repeat(flat.minLength ?? 1), '']
  return texts(
    flat,
    [...near, ...plain, ...blank].filter((text) => !expression.test(text)),
  )
}

function shorter(flat: Json, now: string, length: number): string[] {
  const cut = now.slice(0, Math.max(0, length))
  return [cut, ...textsOf({ ...flat, minLength: 0, maxLength: length }, 5), 'x'.repeat(Math.max(0, length))]
}

/** Padded in the middle, at an end, or drawn anew: one of them still is what a pattern or a format asks for. */
function longer(flat: Json, now: string, length: number): string[] {
  const missing = Math.max(0, length - now.length)
  const half = Math.ceil(now.length / 2)
  const padded = ['a', 'x', '0', now.at(-1) ?? 'a'].flatMap((fill) => [
    now + fill.repeat(missing),
    now.slice(0, half) + fill.repeat(missing) + now.slice(half),
  ])
  const made = flat.format === 'uri' ? [`https://example.com/${'a'.repeat(length)}`.slice(0, length)] : []
  const drawn =
    flat.pattern === undefined ? [] : drawnFrom(flat.pattern, 50).filter((text) => text.length >= length)
  return [...made, ...padded, 'a'.repeat(length), ...drawn]
}
