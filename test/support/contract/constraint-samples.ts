// Generates valid values from a schema. The result is always the same.
import fc from 'fast-check'
import { alternativesOf } from '../../../packages/openapi/alternatives.ts'
import { flattened } from '../../../scripts/constraints/constraints.ts'

type Json = any

/**
 * A value with every optional property. `choice` selects an alternative, if there are several. A schema that
 * contains itself is in its own value once; `within` are the properties of the objects around.
 */
export function sampleOf(document: Json, schema: Json, choice = 0, within: Json[] = []): Json {
  const flat = flattened(document, schema)
  if (flat.const !== undefined) return flat.const
  if (flat.enum !== undefined) return flat.enum.find((value: Json) => value !== null)
  const alternatives = (flat.anyOf ?? flat.oneOf)?.filter((each: Json) => each.type !== 'null')
  if (alternatives !== undefined && flat.properties === undefined)
    return sampleOf(document, alternatives[choice] ?? alternatives[0], 0, within)
  const type = typesOf(flat).find((each) => each !== 'null')
  const example = [...(flat.examples ?? []), flat.example].find(
    (value) => value !== null && value !== undefined,
  )
  if (example !== undefined && typeof example !== 'object') return example
  if (type === 'object') return objectOf(document, flat, choice, within)
  if (type === 'array')
    return variantsOf(document, flat.items ?? {}, Math.max(flat.minItems ?? 1, 1), choice, within)
  if (type === 'string') return textsOf(flat, 1)[0]
  if (type === 'integer' || type === 'number') return flat.minimum ?? flat.maximum ?? 1
  if (type === 'boolean') return true
  return typesOf(flat).length === 0 ? 'anything' : null
}

function objectOf(document: Json, flat: Json, choice: number, around: Json[]): Json {
  const within = [...around, flat.properties]
  const isWithinTwice = (inner: Json): boolean => {
    const { items, properties } = flattened(document, inner)
    const its = items === undefined ? properties : flattened(document, items).properties
    return its !== undefined && within.filter((each) => each === its).length > 1
  }
  const excluded = flat.oneOf === undefined ? new Set() : alternativesOf(flat)[choice]?.excluded
  const value = Object.fromEntries(
    Object.entries<Json>(flat.properties ?? {})
      .filter(([name, inner]) => !excluded?.has(name) && !isWithinTwice(inner))
      .map(([name, inner]) => [name, sampleOf(document, inner, choice, within)]),
  )
  if (typeof flat.additionalProperties === 'object') value.key = sampleOf(document, flat.additionalProperties)
  return value
}

/** Up to `count` different values. */
export function variantsOf(
  document: Json,
  schema: Json,
  count: number,
  choice = 0,
  within: Json[] = [],
): Json[] {
  const flat = flattened(document, schema)
  if (flat.enum !== undefined) return flat.enum.slice(0, count)
  const type = typesOf(flat)[0]
  if (type === 'string') return textsOf(flat, count)
  if (type === 'integer' || type === 'number')
    return Array.from({ length: count }, (_, i) => (flat.minimum ?? 0) + i)
  if (type === 'boolean') return [true, false].slice(0, count)
  return Array.from({ length: count }, () => sampleOf(document, flat, choice, within))
}

const textsByFormat: Record<string, (i: number) => string> = {
  'date-time': (i) => `2026-11-21T09:30:00.${String(i % 1000).padStart(3, '0')}Z`,
  date: (i) => `2026-11-${String(1 + (i % 28)).padStart(2, '0')}`,
  email: (i) => `person${i}@example.com`,
  uri: (i) => `https://example.com/${i}`,
  timezone: (i) => ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo'][i % 3],
}

/** Up to `count` different texts that the schema accepts. */
export function textsOf(flat: Json, count: number): string[] {
  const { format, pattern, minLength = 0, maxLength = Infinity } = flat
  const numbers = Array.from({ length: count }, (_, i) => i)
  if (textsByFormat[format] !== undefined) return numbers.map(textsByFormat[format])
  const plain = numbers.map((i) => `text${i}`.padEnd(minLength, '-').slice(0, maxLength))
  if (pattern === undefined || plain.every((text) => new RegExp(pattern, 'u').test(text))) return plain
  const fitting = new Set(
    textsMatching(pattern, Math.max(100, count * 4)).filter(
      (text) => text.trim() !== '' && text.length >= minLength && text.length <= maxLength,
    ),
  )
  return [...fitting].slice(0, count)
}

/** Texts that match the pattern. None for patterns with lookaround, which fast-check cannot generate. */
export function textsMatching(pattern: string, count: number): string[] {
  if (/\(\?[=!<]/.test(pattern)) return []
  const known = cache.get(pattern)
  if (known !== undefined && known.length >= count) return known
  const expression = new RegExp(pattern, 'u')
  const texts = fc.sample(fc.stringMatching(expression), { numRuns: count, seed: 1 })
  if (texts.some((text) => !expression.test(text)))
    throw new Error(`the generated text does not match ${pattern}`)
  cache.set(pattern, texts)
  return texts
}

const cache = new Map<string, string[]>()

export function typesOf({ type }: Json): string[] {
  return type === undefined ? [] : [type].flat()
}
