// Mutations of a valid value that each break one constraint of its schema.
import fc from 'fast-check'
import { chosenAlternative, isDiscriminated } from '@platform-api/openapi/discriminators.ts'
import { schemaOf, type Json } from '@platform-api/openapi/document.ts'
import { valuesOf } from './values.ts'

export interface Mutation {
  /** The broken field in the notation of API errors: `items[0].quantity`. */
  field: string
  keyword: string
  value: Json
}

/** Mutates the value and everything in it. A mutation may still be valid; the caller must validate it. */
export function mutationsOf(document: Json, node: Json, value: Json, name = ''): Mutation[] {
  const whole = schemaOf(document, node)
  const chosen = isDiscriminated(whole) ? chosenAlternative(whole, value) : undefined
  const schema = chosen === undefined ? whole : schemaOf(document, chosen)
  const own = valueMutations(schema, value).map(({ keyword, value: broken }) => ({
    field: name,
    keyword,
    value: broken,
  }))
  own.push(...partsOf(schema, value).flatMap((part) => mutationsOf(document, part, value, name)))
  // Which field of which alternative an error is about is not known.
  if (schema.properties === undefined && schema.discriminator === undefined)
    for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
      own.push(
        ...mutationsOf(document, part, value, name).filter(
          ({ field, keyword }) => field === name && keyword === 'type',
        ),
      )
  if (schema.not !== undefined) {
    const refused = valuesOf(document, schema.not, { ids: () => [], named: () => [] })
    if (refused !== null)
      own.push({ field: name, keyword: 'not', value: fc.sample(refused, { numRuns: 1, seed: 1 })[0] })
  }
  if (Array.isArray(value)) {
    const { prefixItems = [], items } = schema
    const at = [...prefixItems.keys(), ...(items === undefined ? [] : [prefixItems.length])]
    return [
      ...own,
      ...at
        .filter((i) => i < value.length)
        .flatMap((i) =>
          mutationsOf(document, prefixItems[i] ?? items, value[i], `${name}[${i}]`).map((each) => ({
            ...each,
            value: value.with(i, each.value),
          })),
        ),
    ]
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value.bytes))
    return own
  const inside = Object.entries<Json>(value).flatMap(([property, item]) => {
    const known =
      schema.properties?.[property] ??
      Object.entries(schema.patternProperties ?? {}).find(([pattern]) => allows(pattern, property))?.[1] ??
      (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined)
    return known === undefined
      ? []
      : mutationsOf(document, known, item, within(name, property)).map((each) => ({
          ...each,
          value: { ...value, [property]: each.value },
        }))
  })
  return [...own, ...objectMutations(schema, value, name), ...inside]
}

/** The schemas that the value must meet, too. */
function partsOf(schema: Json, value: Json): Json[] {
  const { allOf = [], dependentSchemas = {}, then, else: otherwise } = schema
  return [
    ...allOf,
    ...Object.keys(dependentSchemas)
      .filter((name) => value?.[name] !== undefined)
      .map((name) => dependentSchemas[name]),
    ...[then, otherwise].filter((part) => part !== undefined),
  ]
}

function within(name: string, property: string): string {
  return name === '' ? property : `${name}.${property}`
}

function objectMutations(schema: Json, value: Json, name: string): Mutation[] {
  const missing = (schema.required ?? []).map((property: string) => {
    const { [property]: _left, ...rest } = value
    return { field: within(name, property), keyword: 'required', value: rest }
  })
  const dependent = Object.entries<string[]>(schema.dependentRequired ?? {})
    .filter(([trigger]) => value[trigger] !== undefined)
    .flatMap(([, needed]) =>
      needed.map((property) => {
        const { [property]: _left, ...rest } = value
        return { field: within(name, property), keyword: 'dependentRequired', value: rest }
      }),
    )
  const unknown = ['additionalProperties', 'unevaluatedProperties']
    .filter((keyword) => schema[keyword] === false)
    .map((keyword) => ({
      field: within(name, 'not_in_the_contract'),
      keyword,
      value: { ...value, not_in_the_contract: 1 },
    }))
  const many =
    schema.maxProperties === undefined
      ? []
      : [
          {
            field: name,
            keyword: 'maxProperties',
            value: Object.fromEntries(
              Array.from({ length: schema.maxProperties + 1 }, (_, i) => [`key${i}`, 'x']),
            ),
          },
        ]
  const names =
    schema.propertyNames?.maxLength === undefined
      ? []
      : [
          {
            field: name,
            keyword: 'maxLength',
            value: { ['k'.repeat(schema.propertyNames.maxLength + 1)]: 'x' },
          },
        ]
  const few =
    schema.minProperties > 0
      ? [
          {
            field: name,
            keyword: 'minProperties',
            value: Object.fromEntries(Object.entries(value).slice(0, schema.minProperties - 1)),
          },
        ]
      : []
  return [...missing, ...dependent, ...unknown, ...many, ...few, ...names]
}

function valueMutations(schema: Json, value: Json): Array<{ keyword: string; value: Json }> {
  const types = [schema.type].flat()
  const broken: Array<{ keyword: string; value: Json }> = []
  const add = (keyword: string, other: Json): void => {
    broken.push({ keyword, value: other })
  }
  if (schema.type !== undefined && schema.format !== 'binary')
    add(
      'type',
      types.includes('object')
        ? 'text'
        : types.includes('string')
          ? 12345
          : types.includes('boolean')
            ? 'maybe'
            : { wrong: true },
    )
  const isText = types.includes('string') || typeof value === 'string'
  if (schema.enum !== undefined) add('enum', isText ? 'not-in-the-contract' : 987654321)
  if (schema.const !== undefined)
    add('const', types.includes('string') ? 'not-in-the-contract' : !schema.const)
  if (schema.maxLength !== undefined)
    add(
      'maxLength',
      typeof value === 'string' && value !== '' && !allows(schema.pattern, 'x'.repeat(schema.maxLength + 1))
        ? value + [...value].at(-1)!.repeat(Math.max(1, schema.maxLength + 1 - [...value].length))
        : 'x'.repeat(schema.maxLength + 1),
    )
  if (schema.minLength !== undefined && schema.minLength > 0)
    add('minLength', 'x'.repeat(schema.minLength - 1))
  if (schema.pattern !== undefined && schema.enum === undefined)
    add('pattern', textNotMatching(new RegExp(schema.pattern, 'u')))
  if (schema.format !== undefined && schema.format !== 'binary') add('format', 'not of this format')
  if (schema.maximum !== undefined) add('maximum', schema.maximum + 1)
  if (schema.minimum !== undefined) add('minimum', schema.minimum - 1)
  for (const key of ['exclusiveMaximum', 'exclusiveMinimum'])
    if (schema[key] !== undefined) add(key, schema[key])
  if (types.includes('integer')) add('type', 1.5)
  if (schema.multipleOf !== undefined && typeof value === 'number')
    add('multipleOf', value + schema.multipleOf / 2)
  if (Array.isArray(value)) {
    if (schema.contains !== undefined) {
      add('contains', [])
      if (schema.minContains > 1) add('minContains', value.slice(0, schema.minContains - 1))
      if (schema.maxContains !== undefined) add('maxContains', Array(schema.maxContains + 1).fill(value[0]))
    }
    for (const key of ['items', 'unevaluatedItems'])
      if (schema[key] === false) add(key, [...value, { wrong: true }])
    if (schema.minItems > 0) add('minItems', value.slice(0, schema.minItems - 1))
    if (schema.maxItems !== undefined) add('maxItems', many(schema, value))
    if (schema.uniqueItems === true && value.length > 0) add('uniqueItems', [value[0], value[0]])
  }
  return broken
}

function allows(pattern: string | undefined, text: string): boolean {
  return pattern === undefined || new RegExp(pattern, 'u').test(text)
}

/** One item more than `maxItems`; distinct if the items are free text. */
function many({ maxItems, items }: Json, value: Json[]): Json[] {
  const [first = 'x'] = value
  return Array.from({ length: maxItems + 1 }, (_, i) =>
    typeof first === 'string' &&
    items?.pattern === undefined &&
    items?.enum === undefined &&
    items?.$ref === undefined
      ? `item${i}`
      : first,
  )
}

/** A text that the pattern does not allow, if one is known. */
function textNotMatching(pattern: RegExp): string {
  const texts = ['!? /', '\u0001', '  ', '[x', 'a,b']
  return texts.find((text) => !pattern.test(text)) ?? '!? /'
}
