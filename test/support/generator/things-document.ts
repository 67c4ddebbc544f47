// A contract with one operation, whose answer is the given schema.
type Json = any

export function thingsDocument(
  schema: Json,
  content: Json = { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
): Json {
  return {
    paths: { '/things': { get: { responses: { 200: { content } } } } },
    components: { schemas: { Thing: schema, Color: { type: 'string', enum: ['red', 'blue'] } } },
  }
}

export function thingSchemas(document: Json): Json {
  return document.components.schemas
}
