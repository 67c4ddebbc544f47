// `oneOf` with a `discriminator`: the value of one property chooses the alternative. The values are those of
// the property's `const` or `enum` in the alternative, else those of `mapping`, else the schema's name.
import { resolve } from './resolve.ts'
import { groupBy } from './group-by.ts'
import { visitSchemas } from './schema-places.ts'

type Json = any

/** Whether a property of the value chooses one of the schema's alternatives. */
export function isDiscriminated(schema: Json): boolean {
  return Array.isArray(schema?.oneOf) && typeof schema.discriminator?.propertyName === 'string'
}

/** Whether `mapping` has every alternative, as `addDiscriminatorValues` leaves it. */
export function isMapped(schema: Json): boolean {
  const mapped = Object.values(schema.discriminator.mapping ?? {})
  return schema.oneOf.every(({ $ref }: Json) => mapped.includes($ref))
}

/** The values that `const` or `enum` allows; null without both. */
export function listedValues(property: Json): unknown[] | null {
  return property?.const === undefined ? (property?.enum ?? null) : [property.const]
}

/** The `$ref` of the alternative for each value of the property. */
function alternativesByValue(document: Json, schema: Json): Map<string, string> {
  const { propertyName, mapping = {} } = schema.discriminator
  return new Map(
    schema.oneOf.flatMap(({ $ref }: Json) => {
      const property = resolve(document, { $ref }).properties[propertyName]
      const listed = listedValues(resolve(document, property))
      const name = String($ref).split('/').at(-1)!
      const mapped = Object.keys(mapping).filter((value) => [$ref, name].includes(mapping[value]))
      const values = listed ?? (mapped.length > 0 ? mapped : [name])
      return values.map((value) => [value, $ref])
    }),
  )
}

/**
 * Completes each `mapping`, and writes the values into alternatives whose property has neither `const` nor
 * `enum`. Everything that reads the document then finds them there. Leaves out a schema with an alternative
 * that is no `$ref` or lacks the property, as contracts of others may have. Changes the document.
 */
export function addDiscriminatorValues(document: Json): void {
  for (const schema of discriminatedIn(document)) {
    const { propertyName } = schema.discriminator
    const hasProperty = ({ $ref }: Json): boolean =>
      $ref !== undefined && resolve(document, { $ref })?.properties?.[propertyName] !== undefined
    if (!schema.oneOf.every(hasProperty)) continue
    const byValue = alternativesByValue(document, schema)
    schema.discriminator = { ...schema.discriminator, mapping: Object.fromEntries(byValue) }
    for (const [ref, pairs] of groupBy(byValue, ([, ref]) => ref)) {
      const alternative = resolve(document, { $ref: ref })
      const property = alternative.properties[propertyName]
      if (listedValues(resolve(document, property)) === null)
        alternative.properties[propertyName] = { ...property, enum: pairs.map(([value]) => value) }
    }
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
    for (const { $ref } of oneOf) {
      const name = String($ref).split('/').at(-1)!
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
  const one = choices(discriminator)
  const known = chooses(discriminator.propertyName, Object.keys(discriminator.mapping))
  return { ...rest, allOf: [...(rest.allOf ?? []), known, ...one] }
}

/** The same schema with nested conditions, because a serializer merges the parts of `allOf`. */
export function withNestedAlternatives(schema: Json): Json {
  const { oneOf: _, discriminator, ...rest } = schema
  const all = choices(discriminator)
  const nested = all.slice(0, -1).reduceRight((other, one) => ({ ...one, else: other }), all.at(-1)!.then)
  return { ...rest, ...nested }
}

function choices({ propertyName, mapping }: Json): Array<{ if: Json; then: Json }> {
  const byRef = groupBy(Object.entries<string>(mapping), ([, ref]) => ref)
  return [...byRef].map(([$ref, pairs]) => ({
    if: chooses(
      propertyName,
      pairs.map(([value]) => value),
    ),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { $ref },
  }))
}

function chooses(property: string, values: string[]): Json {
  return { type: 'object', required: [property], properties: { [property]: { enum: values } } }
}
