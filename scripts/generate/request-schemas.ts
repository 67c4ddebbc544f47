// Schemas of answers as requests have them. Answers are open and requests are closed, so what both use is
// declared once and copied.
import { mapSubschemas, subschemasOf } from '@platform-api/openapi/subschemas.ts'

type Json = any

const local = '#/components/schemas/'

/**
 * Closes every object of the schema. A component that it refers to, and that holds schemas itself, is copied:
 * `Content` becomes `ContentInput`.
 * @param components the schemas of the file; the copies are added to them.
 */
export function requestSchema(schema: Json, components: Record<string, Json>): Json {
  const { $ref, discriminator, properties } = schema
  const inner = mapSubschemas(schema, (each) => requestSchema(each, components))
  if (properties !== undefined) inner.additionalProperties ??= false
  if ($ref !== undefined) inner.$ref = inputOf($ref, components)
  if (discriminator?.mapping !== undefined) {
    const mapping = Object.entries<string>(discriminator.mapping)
    inner.discriminator = {
      ...discriminator,
      mapping: Object.fromEntries(mapping.map(([value, to]) => [value, inputOf(to, components)])),
    }
  }
  return inner
}

/** The `$ref` of the copy, or the same `$ref` where requests can use the component as it is. */
function inputOf($ref: string, components: Record<string, Json>): string {
  const name = $ref.startsWith(local) ? $ref.slice(local.length) : ''
  const component = components[name]
  if (component === undefined || subschemasOf(component).length === 0) return $ref
  const copy = `${name}Input`
  if (components[copy] === undefined) {
    // Before its own schemas: a component may refer to itself.
    components[copy] = {}
    components[copy] = requestSchema(component, components)
  }
  return local + copy
}
