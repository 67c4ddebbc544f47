// Adds this project's extensions to Redocly's type tree, so that the linter checks them and the bundler
// resolves the references in them.
/** Redocly's type tree for OpenAPI 3, with `x-events`, `x-error-codes` and `x-stream-events` in it. */
export function withExtensions(types: Record<string, any>): Record<string, any> {
  return {
    ...types,
    Root: {
      ...types.Root,
      properties: {
        ...types.Root.properties,
        'x-events': 'EventDeclarations',
        'x-error-codes': 'ErrorCodes',
      },
    },
    ErrorCodes: { properties: {}, additionalProperties: 'ErrorCode' },
    ErrorCode: {
      properties: {
        status: { type: 'array', items: { type: 'integer' } },
        means: { type: 'string' },
        when: { type: 'string' },
        do: { type: 'string' },
        retry: { enum: ['no', 'later', 'renewed'] },
        constraints: { type: 'object', additionalProperties: { type: 'string' } },
        limits: { type: 'array', items: { type: 'string' } },
        states: { type: 'object', additionalProperties: { type: 'string' } },
        reasons: { type: 'object', additionalProperties: { type: 'object' } },
        reserved: { type: 'boolean' },
      },
      required: ['status', 'means', 'when', 'do', 'retry'],
    },
    EventDeclarations: { properties: {}, additionalProperties: 'EventDeclaration' },
    EventDeclaration: {
      properties: {
        description: { type: 'string' },
        object: 'Schema',
        scope: { type: 'string' },
        project: { type: 'string' },
        organization: { type: 'string' },
        role: { enum: ['viewer', 'editor', 'admin', 'owner'] },
        audience: { enum: ['user', 'admins', 'everyone'] },
        example: 'EventExample',
      },
      required: ['description', 'object', 'scope'],
    },
    EventExample: { properties: { object: { type: 'object' }, previous_attributes: { type: 'object' } } },
    MediaType: {
      ...types.MediaType,
      properties: { ...types.MediaType.properties, 'x-stream-events': 'StreamEvents' },
    },
    StreamEvents: { properties: {}, additionalProperties: 'Schema' },
  }
}
