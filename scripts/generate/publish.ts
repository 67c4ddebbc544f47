// The two forms of the document that answers need. Clients must accept new fields and new enum values in
// answers; the server must not send them before the spec declares them.
//   exact:     an object in an answer has only the declared properties, an enum only the declared values
//   published: the same answers, open for what later versions add
import { choosingProperties, isDiscriminated } from '@platform-api/openapi/discriminators.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'
import { mapSubschemas } from '@platform-api/openapi/subschemas.ts'

type Json = any

/** The document with every object closed that has properties and does not say otherwise. */
export function exactDocument(document: Json): Json {
  const copy = structuredClone(document)
  const { schemas = {} } = copy.components ?? {}
  for (const name of Object.keys(schemas)) schemas[name] = closed(schemas[name])
  for (const media of answersOf(copy)) if (media.schema !== undefined) media.schema = closed(media.schema)
  return copy
}

function closed(schema: Json): Json {
  const own = mapSubschemas(schema, closed)
  const isOpen =
    own.properties !== undefined &&
    own.additionalProperties === undefined &&
    own.unevaluatedProperties === undefined
  return isOpen ? { ...own, additionalProperties: false } : own
}

/** The document for clients: the enums of answers are extensible, and streams have a schema. */
export function publishedDocument(document: Json): Json {
  const copy = structuredClone(document)
  const { schemas = {} } = copy.components ?? {}
  const seen = new Set<string>()
  const choosing = choosingProperties(copy)
  for (const media of answersOf(copy)) {
    const events = media['x-stream-events']
    if (media.schema !== undefined) media.schema = extensible(media.schema)
    if (events === undefined) continue
    for (const schema of Object.values(events)) extensible(schema)
    media.schema = streamSchema(events)
  }
  return copy

  function extensible(schema: Json): Json {
    const target = resolve(document, schema)
    if (target.enum !== undefined) {
      const { description, format } = target
      const others = { type: typeOf(target), ...(format && { format }) }
      return withOtherValues({ ...(description && { description }), ...schema }, others)
    }
    extendComponent(schema.$ref)
    const { anyOf, ...rest } = schema
    const own = mapSubschemas(rest, extensible)
    if (isDiscriminated(schema)) own.oneOf = schema.oneOf
    // The values of an enum stay beside the other alternatives, such as null.
    return anyOf === undefined ? own : { ...own, anyOf: anyOf.flatMap(alternativesOf) }
  }

  function alternativesOf(schema: Json): Json[] {
    const own = extensible(schema)
    return resolve(document, schema).enum === undefined ? [own] : own.anyOf
  }

  function extendComponent(ref: string | undefined): void {
    const name = ref?.split('/').at(-1)
    if (name === undefined || seen.has(name)) return
    seen.add(name)
    const { properties = {} } = schemas[name]
    schemas[name] = extensible(schemas[name])
    // Any other value would choose another alternative.
    for (const property of choosing.get(name) ?? []) schemas[name].properties[property] = properties[property]
  }
}

function withOtherValues({ $ref, type, format, enum: values, ...rest }: Json, others: Json): Json {
  const known = $ref === undefined ? { type, ...(format && { format }), enum: values } : { $ref }
  return { ...rest, anyOf: [known, others] }
}

/** The type of an enum's values, apart from null. */
function typeOf({ type, enum: values }: Json): string {
  const declared = [type ?? typeof values[0]].flat()
  return declared.find((one) => one !== 'null')!
}

function streamSchema(events: Record<string, Json>): Json {
  const names = Object.keys(events).map((name) => `\`${name}\``)
  const distinct = new Map(Object.values(events).map((schema) => [JSON.stringify(schema), schema]))
  return {
    description:
      'Server-sent events. The `data` of each event is JSON that matches one of these schemas. ' +
      `Event types: ${names.join(', ')}.`,
    anyOf: [...distinct.values()],
  }
}

/** The media types of all responses and of all webhooks. */
function answersOf(document: Json): Json[] {
  const bodies = [
    ...operationsIn(document.paths).flatMap(({ responses }) => Object.values<Json>(responses ?? {})),
    ...operationsIn(document.webhooks).map(({ requestBody }) => requestBody),
  ]
  const distinct = new Set(bodies.map((body) => resolve(document, body)))
  return [...distinct].flatMap((body) => Object.values<Json>(body?.content ?? {}))
}

function operationsIn(items: Json = {}): Json[] {
  return Object.values<Json>(items).flatMap((item) =>
    methods.map((method) => item[method]).filter((operation) => operation !== undefined),
  )
}
