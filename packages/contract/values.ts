// fast-check arbitraries for the valid values of a schema.
// E-mail addresses and URLs end in .invalid (RFC 2606), so nothing is ever delivered.
import fc from 'fast-check'
import { alternativesOf, isRequiredChoice } from '@platform-api/openapi/alternatives.ts'
import { kindOf, schemaOf, type Json } from '@platform-api/openapi/document.ts'
import { flatSchemas } from '@platform-api/openapi/intersections.ts'
import { picture, type Attachment } from './forms.ts'
import { idKey, ownIdKey } from '@platform-api/openapi/resource-ids.ts'

/** The ids that a request may reference. */
export interface Ids {
  ids(kind: string): string[]
  /** Ids without a typed prefix, by the name of the property that holds them. */
  named(name: string): string[]
}

interface Source {
  document: Json
  ids: Ids
  /** By schema and depth: schemas that refer to each other would double the values at each level. */
  known: Map<unknown, Array<fc.Arbitrary<Json> | null>>
}

/** @returns null if the schema needs the id of a resource and none exists. */
export function valuesOf(document: Json, node: Json, ids: Ids): fc.Arbitrary<Json> | null {
  return valuesIn({ document, ids, known: new Map() }, node, 0)
}

/** Other values, too, for an id that only its name makes one, if no resource is known. */
export function requiredValuesOf(document: Json, node: Json, ids: Ids): fc.Arbitrary<Json> | null {
  return requiredIn({ document, ids, known: new Map() }, node, 0)
}

function requiredIn(source: Source, node: Json, depth: number): fc.Arbitrary<Json> | null {
  const { [idKey]: kind, ...plain } = schemaOf(source.document, node)
  return valuesIn(source, node, depth) ?? (kind === undefined ? null : valuesIn(source, plain, depth))
}

function valuesIn(source: Source, node: Json, depth: number): fc.Arbitrary<Json> | null {
  const isPlainReference = typeof node?.$ref === 'string' && Object.keys(node).length === 1
  const name = isPlainReference ? node.$ref : node
  const known = source.known.get(name) ?? []
  source.known.set(name, known)
  if (known[depth] === undefined) known[depth] = ofSchema(source, node, depth)
  return known[depth]
}

function ofSchema(source: Source, node: Json, depth: number): fc.Arbitrary<Json> | null {
  const { document, ids } = source
  const schema = schemaOf(document, node)
  if (depth > maxDepth * 2 || schema === false) return null
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const isCombined = ['allOf', 'anyOf', 'oneOf'].some((key) => Array.isArray(schema[key]))
  if (isCombined && !isRequiredChoice(schema)) {
    const found = flatSchemas(document, node)
      .map((each) => valuesIn(source, each, depth))
      .filter((each) => each !== null)
    return found.length === 0 ? null : fc.oneof(...found)
  }
  const kind = kindOf(schema)
  const types: string[] = [schema.type ?? 'object'].flat()
  if (kind !== null && schema[ownIdKey] !== true && types.join() !== 'null')
    return identifiers(kind, schema, ids)
  if (schema.type === undefined && !objectKeywords.some((key) => key in schema))
    return schema.format === undefined && schema.pattern === undefined
      ? fc.constantFrom<Json>('text', 1, true, {})
      : texts(schema)
  const value = ofType(source, schema, types.find((type) => type !== 'null') ?? 'null', depth)
  if (value === null) return types.includes('null') ? fc.constant(null) : null
  return types.includes('null') && types.length > 1 ? fc.option(value, { nil: null, freq: 6 }) : value
}

const objectKeywords = ['properties', 'additionalProperties', 'oneOf', 'anyOf', 'required', 'maxProperties']

function ofType(source: Source, schema: Json, type: string, depth: number): fc.Arbitrary<Json> | null {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return integers(schema)
    case 'number':
      return fc.integer({ min: 0, max: 100 }).map((part) => {
        const { min, max } = rangeOf(schema, false)
        return min + ((max - min) * part) / 100
      })
    case 'array':
      return lists(source, schema, depth)
    case 'object':
      return objects(source, schema, depth)
    default:
      return texts(schema)
  }
}

function rangeOf(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Json,
  integer: boolean,
): { min: number; max: number } {
  const step = integer ? 1 : 1e-6
  const lowest = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + step)
  const highest = maximum ?? (exclusiveMaximum === undefined ? undefined : exclusiveMaximum - step)
  const min = lowest ?? Math.min(0, highest ?? 0)
  return { min, max: Math.max(min, Math.min(highest ?? min + 1000, Number.MAX_SAFE_INTEGER)) }
}

function integers(schema: Json): fc.Arbitrary<number> {
  const { min, max } = rangeOf(schema, true)
  const { multipleOf: step } = schema
  if (!Number.isInteger(step)) return fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
  return fc.integer({ min: Math.ceil(min / step), max: Math.floor(max / step) }).map((n) => n * step)
}

function lists(
  source: Source,
  {
    items,
    prefixItems = [],
    contains,
    minContains = contains === undefined ? 0 : 1,
    minItems = 0,
    maxItems = 3,
    uniqueItems = false,
  }: Json,
  depth: number,
): fc.Arbitrary<Json> | null {
  const first: Json[] = [...prefixItems, ...Array(minContains).fill(contains)]
  if (first.length > 0) {
    const values = first.map((each) => valuesIn(source, each, depth + 1))
    if (values.includes(null)) return minItems === 0 && minContains === 0 ? fc.constant([]) : null
    return fc.tuple(...(values as Array<fc.Arbitrary<Json>>))
  }
  const item = (minItems > 0 ? requiredIn : valuesIn)(source, items ?? {}, depth + 1)
  if (item === null) return minItems === 0 ? fc.constant([]) : null
  const lengths = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) }
  return uniqueItems
    ? fc.uniqueArray(item, { ...lengths, selector: (each) => JSON.stringify(each) })
    : fc.array(item, lengths)
}

function objects(source: Source, schema: Json, depth: number): fc.Arbitrary<Json> | null {
  const { document, ids } = source
  const {
    required = [],
    additionalProperties,
    propertyNames = {},
    minProperties = 0,
    maxProperties = 3,
  } = schema
  const other = typeof additionalProperties === 'object' ? additionalProperties : { type: 'string' }
  const properties: Json = {
    // A schema may require a property that it does not declare.
    ...(additionalProperties !== false && Object.fromEntries(required.map((name: string) => [name, other]))),
    ...schema.properties,
  }
  if (Object.keys(properties).length === 0) {
    const [pattern] = Object.entries<Json>(schema.patternProperties ?? {})
    const item = pattern?.[1] ?? additionalProperties
    if (typeof item !== 'object' && minProperties === 0) return fc.constant({})
    const value = valuesIn(source, typeof item === 'object' ? item : {}, depth + 1)
    const names = { minLength: 1, maxLength: 20, ...(pattern && { pattern: pattern[0] }), ...propertyNames }
    return value === null
      ? fc.constant({})
      : fc.dictionary(texts(names).filter(isSafeName), value, {
          minKeys: minProperties,
          maxKeys: Math.max(minProperties, Math.min(maxProperties, 2)),
          noNullPrototype: true,
        })
  }
  if (depth > maxDepth) return null
  const isReadOnly = (name: string): boolean => schemaOf(document, properties[name]).readOnly === true
  const needed: string[] = required.filter(
    (name: string) => properties[name] === undefined || !isReadOnly(name),
  )
  // A recursive schema ends where only required properties are left.
  const selectable = (name: string): boolean =>
    !isReadOnly(name) && (depth < maxDepth / 2 || needed.includes(name))
  const values = new Map(
    Object.entries<Json>(properties)
      .filter(([name]) => selectable(name))
      .map(([name, property]) => [
        name,
        namedOf(name, schemaOf(document, property), ids) ??
          (needed.includes(name) ? requiredIn : valuesIn)(source, property, depth + 1),
      ]),
  )
  const choices = isRequiredChoice(schema)
    ? alternativesOf(schema)
    : [{ required: [], excluded: new Set<string>() }]
  const records = choices.flatMap(({ required: chosen, excluded }) => {
    const selected = [...needed, ...chosen]
    if (selected.some((name) => (values.get(name) ?? null) === null)) return []
    const known = [...values].filter(([name, value]) => value !== null && !excluded.has(name)) as Array<
      [string, fc.Arbitrary<Json>]
    >
    return [fc.record(Object.fromEntries(known), { requiredKeys: selected, noNullPrototype: true })]
  })
  return records.length === 0 ? null : fc.oneof(...records)
}

/** Objects inside of one another. */
const maxDepth = 8

/** Servers may refuse the names with which an object changes its prototype. */
function isSafeName(name: string): boolean {
  return !['__proto__', 'constructor', 'prototype'].includes(name)
}

function namedOf(name: string, { type, enum: values }: Json, ids: Ids): fc.Arbitrary<Json> | null {
  const known = [type].flat().includes('string') && values === undefined ? ids.named(name) : []
  return known.length === 0 ? null : fc.constantFrom(...known)
}

/**
 * Other scripts, surrogate pairs, combining marks, right-to-left text, special characters of SQL and HTML.
 */
const unusualTexts = [
  'Ωμέγα',
  '𝒜𝓑',
  '👩‍👩‍👧‍👦',
  'עברית',
  'e\u0301',
  '\u202eabc',
  "o'; --",
  '<b>&amp;',
  '100%_\\',
  'ß ﬁ',
  '\ufeffx',
  'a\u0085b',
]

/** The ids of existing resources; null if there is none. */
function identifiers(kind: string, { type }: Json, ids: Ids): fc.Arbitrary<Json> | null {
  const isNumber = ![type].flat().includes('string') && [type].flat().includes('integer')
  // Another operation may name the same resources by texts.
  const usable = (): string[] => ids.ids(kind).filter((id) => !isNumber || Number.isInteger(Number(id)))
  if (usable().length === 0) return [type].flat().includes('null') ? fc.constant(null) : null
  return fc.nat({ max: 5 }).map((n) => {
    const known = usable()
    const id = known[n % known.length]
    if (id === undefined) return isNumber ? 2 ** 31 - 2 : `${kind}none`
    return isNumber ? Number(id) : id
  })
}

function texts(schema: Json): fc.Arbitrary<Json> {
  const { minLength = 0, maxLength = 200, pattern, format } = schema
  if (format !== undefined && formats[format] !== undefined) return formats[format]
  const fits = fitting(schema)
  const page = 'https://contract-tests.invalid/page'
  if (pattern !== undefined && new RegExp(pattern, 'u').test(page) && !fits('x'))
    return fc.integer({ min: 0, max: 9999 }).map((n) => `${page}/${n}`)
  const name = `${pattern} ${minLength} ${maxLength}`
  if (pattern !== undefined && !fits('word'))
    return cached(name, () => {
      const all = matchingPattern(pattern)
      return filtered(all, fits) ?? all
    })
  const longest = maxLength <= 5000 ? ['x'.repeat(maxLength), '𝒜'.repeat(maxLength)].filter(fits) : []
  const unusual = unusualTexts.filter(fits)
  return cached(`texts ${name}`, () => {
    const any = graphemes(minLength, Math.max(minLength, Math.min(maxLength, 40)))
    const choices = [
      { arbitrary: filtered(words, fits), weight: 4 },
      { arbitrary: filtered(any, fits), weight: 2 },
      { arbitrary: unusual.length === 0 ? null : fc.constantFrom(...unusual), weight: 2 },
      { arbitrary: longest.length === 0 ? null : fc.constantFrom(...longest), weight: 1 },
    ]
    const known = choices.filter((each) => each.arbitrary !== null) as Array<fc.WeightedArbitrary<string>>
    return known.length === 0 ? any : fc.oneof(...known)
  })
}

/** The values that fit; null if there are so few that a search might not end. */
function filtered<Value>(
  arbitrary: fc.Arbitrary<Value>,
  fits: (value: Value) => boolean,
): fc.Arbitrary<Value> | null {
  const found = fc.sample(arbitrary, { numRuns: 100, seed: 1 }).filter(fits)
  if (found.length >= 10) return arbitrary.filter(fits)
  return found.length === 0 ? null : fc.constantFrom(...found)
}

const words = fc.stringMatching(/^[a-z]{4,12}$/)
const cache = new Map<string, fc.Arbitrary<string>>()

/** Cached, because fast-check takes long to prepare these arbitraries. */
function cached(name: string, make: () => fc.Arbitrary<string>): fc.Arbitrary<string> {
  if (!cache.has(name)) cache.set(name, make())
  return cache.get(name)!
}

/** Text that matches the pattern. */
export function matchingPattern(pattern: string): fc.Arbitrary<string> {
  return cached(pattern, () => {
    const expression = new RegExp(pattern, 'u')
    const plain = withoutAssertions(pattern)
    if (plain === pattern) return fc.stringMatching(expression)
    const all = fc.stringMatching(new RegExp(plain, 'u'))
    return filtered(all, (text) => expression.test(text)) ?? all
  })
}

/** The pattern without `\b`, `\B`, and what looks ahead or behind: fast-check makes no text for these. */
function withoutAssertions(pattern: string): string {
  const tokens = pattern.match(/\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|[^]/gu) ?? []
  const kept: string[] = []
  let open = 0
  for (const token of tokens) {
    const isGroup = token === '(' || /^\(\?<?[=!]$/.test(token)
    const isLook = token !== '(' && isGroup
    if (isLook || (open > 0 && isGroup)) open++
    else if (open > 0) open -= Number(token === ')')
    else if (!/^\\b$/i.test(token)) kept.push(token)
  }
  return kept.join('')
}

function graphemes(minLength: number, maxLength: number): fc.Arbitrary<string> {
  return cached(`graphemes ${minLength} ${maxLength}`, () =>
    fc.string({ unit: 'grapheme', minLength, maxLength }),
  )
}

export const textFile: Attachment = {
  filename: 'text.txt',
  type: 'text/plain',
  bytes: Buffer.from('A text of the contract tests.\n'),
}

const attachments: fc.Arbitrary<Attachment> = fc.constantFrom(
  { filename: 'picture.png', type: 'image/png', bytes: picture },
  textFile,
  { filename: 'empty.txt', type: 'text/plain', bytes: Buffer.alloc(0) },
)

/** Midnight in UTC. */
const today = (): number => Math.floor(Date.now() / 86_400_000) * 86_400_000

const formats: Record<string, fc.Arbitrary<Json>> = {
  email: fc.stringMatching(/^[a-z0-9]{16}$/).map((name) => `${name}@contract-tests.invalid`),
  uri: fc.stringMatching(/^[a-z0-9]{8}$/).map((name) => `https://contract-tests.invalid/${name}`),
  // From tomorrow on, so that the values of a seed are the same all day.
  'date-time': fc
    .integer({ min: 1440, max: 300 * 1440 })
    .map((minutes) => new Date(today() + minutes * 60_000).toISOString()),
  date: fc
    .integer({ min: 1, max: 300 })
    .map((days) => new Date(today() + days * 86_400_000).toISOString().slice(0, 10)),
  url: fc.stringMatching(/^[a-z0-9]{8}$/).map((name) => `https://contract-tests.invalid/${name}`),
  'uri-reference': fc.constant('/page'),
  'uri-template': fc.constant('/pages/{page}'),
  'json-pointer': fc.constant('/name'),
  'json-pointer-uri-fragment': fc.constant('#/name'),
  'relative-json-pointer': fc.constant('0/name'),
  regex: fc.constant('^[a-z]+$'),
  'iso-time': fc.constant('12:30:00Z'),
  'iso-date-time': fc.constant('2030-01-31T12:30:00Z'),
  uuid: fc.uuid({ version: 4 }),
  byte: fc.base64String({ maxLength: 40 }),
  time: fc.constant('12:30:00Z'),
  hostname: fc.constant('contract-tests.invalid'),
  ipv4: fc.constant('192.0.2.1'),
  ipv6: fc.constant('2001:db8::1'),
  duration: fc.constant('PT1H'),
  timezone: fc.constantFrom('Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires', 'Asia/Kathmandu'),
  binary: attachments,
}

/** Lengths count code points (JSON Schema 2020-12, 6.3.1). NUL and lone surrogates are left out. */
function fitting({ minLength = 0, maxLength = Infinity, pattern }: Json): (text: string) => boolean {
  const expression = pattern === undefined ? null : new RegExp(pattern, 'u')
  return (text) => {
    const { length } = [...text]
    return (
      length >= minLength &&
      length <= maxLength &&
      !text.includes('\0') &&
      text.isWellFormed() &&
      (expression === null || expression.test(text))
    )
  }
}
