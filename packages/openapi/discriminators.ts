// `oneOf` with a `discriminator`: the value of one property chooses the alternative. The values are those of
// `mapping`, else those of the property's `const` or `enum` in the alternative, else the schema's name.
import { resolve } from './resolve.ts'
import { groupBy } from './group-by.ts'
import { visitSchemas } from './schema-places.ts'
import { propertiesOf } from './views.ts'

type Json = any

/** Whether a property of the value chooses one of the schema's alternatives. */
export function isDiscriminated(schema: Json): boolean {
  return Array.isArray(schema?.oneOf) && typeof schema.discriminator?.propertyName === 'string'
}

/** Whether `mapping` has every alternative, as `addDiscriminatorValues` leaves it. */
export function isMapped(schema: Json): boolean {
  const mapped = Object.values(schema.discriminator.mapping ?? {})
  return schema.oneOf.every((alternative: Json) => mapped.includes(referenceOf(alternative)))
}

/** The alternative that the value chooses. */
export function chosenAlternative({ oneOf, discriminator }: Json, value: Json): Json | undefined {
  const $ref = discriminator.mapping?.[value?.[discriminator.propertyName]]
  return $ref && oneOf.find((alternative: Json) => referenceOf(alternative) === $ref)
}

/** The `$ref` of an alternative, which may have values beside it. */
function referenceOf({ $ref, allOf }: Json): string | undefined {
  return $ref ?? allOf?.[0]?.$ref
}

/** The values that `const` or `enum` allows; null without both. */
export function listedValues(property: Json): unknown[] | null {
  return property?.const === undefined ? (property?.enum ?? null) : [property.const]
}

interface Alternative {
  $ref: string
  /** Of the property; null if it may have any. */
  listed: unknown[] | null
  /** The values that choose the alternative. */
  values: unknown[]
}

/** null if an alternative is no `$ref`, or no value of the property chooses it alone. */
function alternativesOf(document: Json, { oneOf, discriminator }: Json): Alternative[] | null {
  const { propertyName, mapping = {} } = discriminator
  const found: Alternative[] = []
  for (const { $ref } of oneOf) {
    const property = $ref && propertiesOf(document, { $ref })[propertyName]
    if (property === undefined) return null
    const listed = listedValues(resolve(document, property))
    const name = String($ref).split('/').at(-1)!
    const mapped = Object.keys(mapping).filter((value) => [$ref, name].includes(mapping[value]))
    const others = (listed ?? [name]).filter((value) => !Object.hasOwn(mapping, String(value)))
    const allowed = mapped.filter((value) => listed?.includes(value) !== false)
    const values = allowed.length > 0 ? allowed : mapped.length > 0 ? listed! : others
    found.push({ $ref, listed, values })
  }
  const all = found.flatMap(({ values }) => values)
  const isChosen = found.every(({ values }) => values.length > 0) && new Set(all).size === all.length
  return isChosen ? found : null
}

/**
 * Completes each `mapping`, and writes the values beside the `$ref` of each alternative whose property may
 * have others. Everything that reads the document then finds them there. Leaves out a schema whose
 * alternatives the property cannot choose, as contracts of others may have. Changes the document.
 */
export function addDiscriminatorValues(document: Json): void {
  for (const schema of discriminatedIn(document)) {
    const alternatives = alternativesOf(document, schema)
    if (alternatives === null) continue
    const { propertyName } = schema.discriminator
    const mapping = alternatives.flatMap(({ $ref, values }) => values.map((value) => [value, $ref]))
    schema.discriminator = { ...schema.discriminator, mapping: Object.fromEntries(mapping) }
    schema.oneOf = alternatives.map(({ $ref, listed, values }) =>
      listed?.every((value) => values.includes(value))
        ? { $ref }
        : { allOf: [{ $ref }, { properties: { [propertyName]: { enum: values } } }] },
    )
  }
}

/** The schemas of the document whose alternative a property chooses. */
export function discriminatedIn(document: Json): Json[] {
  const found: Json[] = []
  visitSchemas(document, (schema) => {
    if (isDiscriminated(schema)) found.push(schema)
  })
  return found
}

/** By component: the properties that choose it. */
export function choosingProperties(document: Json): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const { oneOf, discriminator } of discriminatedIn(document))
    for (const alternative of oneOf) {
      const name = String(referenceOf(alternative)).split('/').at(-1)!
      found.set(name, (found.get(name) ?? new Set()).add(discriminator.propertyName))
    }
  return found
}

/**
 * The schema with conditions in place of `oneOf`: only the alternative that the property chooses is compared
 * with a value, and its problems are the only ones. Needs a complete `mapping`.
 */
export function withChosenAlternative(schema: Json): Json {
  const { oneOf: _, discriminator, ...rest } = schema
  const one = choices(schema)
  const known = chooses(discriminator.propertyName, Object.keys(discriminator.mapping))
  return { ...rest, allOf: [...(rest.allOf ?? []), known, ...one] }
}

/** The same schema with nested conditions, because a serializer merges the parts of `allOf`. */
export function withNestedAlternatives(schema: Json): Json {
  const { oneOf: _, discriminator: __, ...rest } = schema
  const all = choices(schema)
  const nested = all.slice(0, -1).reduceRight((other, one) => ({ ...one, else: other }), all.at(-1)!.then)
  return { ...rest, ...nested }
}

function choices({ oneOf, discriminator: { propertyName, mapping } }: Json): Array<{ if: Json; then: Json }> {
  const byRef = groupBy(Object.entries<string>(mapping), ([, ref]) => ref)
  return [...byRef].map(([$ref, pairs]) => ({
    if: chooses(
      propertyName,
      pairs.map(([value]) => value),
    ),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: oneOf.find((alternative: Json) => referenceOf(alternative) === $ref),
  }))
}

function chooses(property: string, values: string[]): Json {
  return { type: 'object', required: [property], properties: { [property]: { enum: values } } }
}
