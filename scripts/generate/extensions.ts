// The places where this project's extensions hold schemas, for the linter and the bundler, which then follow the
// references in them and know what else may stand there.

/** Redocly's type tree for OpenAPI 3, with `x-events` and `x-stream-events` in it. */
export function withExtensions (types: Record<string, any>): Record<string, any> {
  return {
    ...types,
    Root: { ...types.Root, properties: { ...types.Root.properties, 'x-events': 'EventDeclarations' } },
    EventDeclarations: { properties: {}, additionalProperties: 'EventDeclaration' },
    EventDeclaration: {
      properties: {
        description: { type: 'string' },
        object: 'Schema',
        scope: { type: 'string' },
        project: { type: 'string' },
        role: { enum: ['viewer', 'editor', 'admin', 'owner'] },
        audience: { enum: ['user', 'admins', 'everyone'] }
      },
      required: ['description', 'object', 'scope']
    },
    MediaType: { ...types.MediaType, properties: { ...types.MediaType.properties, 'x-stream-events': 'StreamEvents' } },
    StreamEvents: { properties: {}, additionalProperties: 'Schema' }
  }
}
