// Values that break one constraint and, as far as possible, no other. Several per constraint, the best first.
import { flattened } from '../../../scripts/constraints/constraints.ts'
import { textsMatching, sampleOf, textsOf, typesOf, variantsOf } from './constraint-samples.ts'
import type { Site } from './constraint-sites.ts'

type Json = any

/** A change to the value that the constraint applies to: another value, or none. */
export type Violation = { value: Json } | { remove: true } | { key: string; value: Json }

/** A property name that no schema declares. */
export const unknownName = 'unknown_name'

/** @param current the valid value at the site. */
export function violationsOf(
  document: Json,
  { constraint: { keyword, name }, schema }: Site,
  current: Json,
): Violation[] {
  const flat = flattened(document, schema)
  const limit = flat[keyword]
  const values = (...all: Json[]): Violation[] => all.map((value) => ({ value }))
  switch (keyword) {
    case 'type':
      return values(...valuesOfOtherTypes(limit))
    case 'enum':
      return values(
        ...(typesOf(flat).includes('integer')
          ? [Math.max(...limit) + 1, Math.min(...limit) - 1]
          : [`${current}x`, 'none_of_these', 'x']),
        !current,
      )
    case 'const':
      return values(
        ...(typeof limit === 'boolean' ? [!limit] : typeof limit === 'number' ? [limit + 1] : [`${limit}x`]),
        0,
      )
    case 'pattern':
      return values(...textsNotMatching(flat, current))
    case 'format':
      return values(
        ...fittingLengthFirst(flat, [
          'none',
          'no such format',
          'https://not a uri',
          'http://[',
          '2026-02-31T00:00:00Z',
          'Mars/Base',
          'x@',
          `${current} `,
        ]),
      )
    case 'minLength':
      return values(...shorter(flat, textOf(current), limit - 1))
    case 'maxLength':
      return values(...longer(flat, textOf(current), limit + 1))
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
      return values(
        Array.isArray(current)
          ? current.slice(0, limit - 1)
          : variantsOf(document, flat.items ?? {}, limit - 1),
      )
    case 'maxItems':
      return values(variantsOf(document, flat.items ?? {}, limit + 1))
    case 'uniqueItems': {
      const [first] = current.length > 0 ? current : variantsOf(document, flat.items ?? {}, 1)
      return values([first, first])
    }
    case 'minProperties':
      return values(Object.fromEntries(Object.entries(current).slice(0, limit - 1)))
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
        : [{ value: Object.fromEntries(Object.entries(current).filter(([key]) => key !== name)) }]
    case 'additionalProperties':
      return limit === false ? [{ value: { ...current, [unknownName]: 'x' } }] : []
    case 'dependentRequired':
      return Object.entries(limit as Record<string, string[]>).flatMap(([key, needed]) => {
        const others = Object.entries(sampleOf(document, flat, 1) as object).filter(
          ([name]) => !needed.includes(name) && !(name in limit),
        )
        return values({
          ...Object.fromEntries(others),
          [key]: sampleOf(document, flat.properties[key]),
        })
      })
    case 'oneOf':
      return values({ ...sampleOf(document, flat), ...sampleOf(document, flat, 1), ...current }, {})
    // Keywords that only contain other schemas are broken through those schemas.
    default:
      return []
  }
}

function valuesOfOtherTypes(limit: string | string[]): Json[] {
  const allowed = [limit].flat()
  const samples: Array<[string, Json]> = [
    ['string', 'x'],
    ['integer', 42],
    ['boolean', true],
    ['number', 1.5],
    ['array', []],
    ['object', {}],
    ['null', null],
  ]
  return samples
    .filter(([type]) => !allowed.includes(type) && !(type === 'integer' && allowed.includes('number')))
    .map(([, value]) => value)
}

/** Puts the texts with an allowed length first. */
function fittingLengthFirst({ minLength = 0, maxLength = Infinity }: Json, all: string[]): string[] {
  const fits = (text: string): boolean => text.length >= minLength && text.length <= maxLength
  return [...all.filter(fits), ...all.filter((text) => !fits(text))]
}

const oddCharacters = ['!', ' ', '\t', 'Ü', '_', '/', '\\', '~', 'X', '\u0001', '@']

/** Texts that do not match the pattern: variations of the valid text first, then fixed ones. */
function textsNotMatching(flat: Json, value: unknown): string[] {
  const expression = new RegExp(flat.pattern, 'u')
  // The value may be of another type that the schema allows.
  const current = typeof value === 'string' ? value : ''
  const near = oddCharacters.flatMap((stranger) => [
    current + stranger,
    stranger + current.slice(1),
    stranger + current,
    current.slice(0, -1) + stranger,
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
    '[x',
    'a,b',
    ...oddCharacters.map((stranger) => `a${stranger}b`),
  ]
  const blank = [' ', '  ', ' '.repeat(flat.minLength ?? 1), '']
  return fittingLengthFirst(
    flat,
    [...near, ...plain, ...blank].filter((text) => !expression.test(text)),
  )
}

/** Of a value that may be of another type. */
const textOf = (value: Json): string => (typeof value === 'string' ? value : '')

function shorter(flat: Json, current: string, length: number): string[] {
  const cut = current.slice(0, Math.max(0, length))
  return [cut, ...textsOf({ ...flat, minLength: 0, maxLength: length }, 5), 'x'.repeat(Math.max(0, length))]
}

/** Texts of this length, padded or generated, so that one still matches the pattern or format. */
function longer(flat: Json, current: string, length: number): string[] {
  const missing = Math.max(0, length - current.length)
  const half = Math.ceil(current.length / 2)
  const padded = ['a', 'x', '0', current.at(-1) ?? 'a'].flatMap((fill) => [
    current + fill.repeat(missing),
    current.slice(0, half) + fill.repeat(missing) + current.slice(half),
  ])
  const made = flat.format === 'uri' ? [`https://example.com/${'a'.repeat(length)}`.slice(0, length)] : []
  const drawn =
    flat.pattern === undefined ? [] : textsMatching(flat.pattern, 50).filter((text) => text.length >= length)
  return [...made, ...padded, 'a'.repeat(length), ...drawn]
}
