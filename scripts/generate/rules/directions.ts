// The rule for the two directions of schemas. Requests are closed: an unknown field is an error. Answers are
// open: a later version may add fields and enum values to them.
import { subschemasOf } from '@platform-api/openapi/subschemas.ts'

type Direction = 'request' | 'answer'

interface Use {
  schema: any
  location: any
  directions: Set<Direction>
  /** Whether a direct subschema is an enum. */
  hasEnum: boolean
}

export const directionRules = {
  'open-answers-closed-requests': () => {
    const uses = new Map<string, Use>()

    /** Collects the schema and all schemas that it uses. */
    function collect(node: any, at: any, direction: Direction, ctx: any): void {
      if (node === undefined) return
      const { node: schema, location } =
        node.$ref === undefined ? { node, location: at } : ctx.resolve(node, at.source.absoluteRef)
      if (schema === undefined) return
      const key = location.absolutePointer
      const inside = subschemasOf(schema)
      const holdsEnum = ([, inner]: [unknown, any]): boolean =>
        isEnum(ctx.resolve(inner, location.source.absoluteRef).node)
      const use = uses.get(key) ?? {
        schema,
        location,
        directions: new Set(),
        hasEnum: inside.some(holdsEnum),
      }
      uses.set(key, use)
      if (use.directions.has(direction)) return
      use.directions.add(direction)
      for (const [path, inner] of inside) collect(inner, location.child(path), direction, ctx)
    }

    const bodies = (direction: Direction) => (body: any, ctx: any) => {
      for (const [type, media] of Object.entries<any>(body.content ?? {})) {
        const at = ctx.location.child(['content', type])
        collect(media.schema, at.child('schema'), direction, ctx)
        for (const [name, schema] of Object.entries<any>(media['x-stream-events'] ?? {}))
          collect(schema, at.child(['x-stream-events', name]), direction, ctx)
      }
    }
    return {
      Parameter: (node: any, ctx: any) => collect(node.schema, ctx.location.child('schema'), 'request', ctx),
      RequestBody: bodies('request'),
      Response: bodies('answer'),
      EventDeclaration: (node: any, ctx: any) =>
        collect(node.object, ctx.location.child('object'), 'answer', ctx),
      Root: {
        leave(_root: any, ctx: any) {
          for (const use of uses.values()) {
            const message = problemOf(use)
            if (message !== null) ctx.report({ message, location: use.location.key() })
          }
        },
      },
    }
  },
}

/** Whether the schema is an enum, or becomes one when the generator fills in its values. */
function isEnum(schema: any): boolean {
  return ['enum', 'x-event-types', 'x-error-code'].some((keyword) => schema?.[keyword] !== undefined)
}

function problemOf({ schema, location, hasEnum, directions }: Use): string | null {
  const name = `\`${nameOf(location.pointer)}\``
  const [inRequest, inAnswer] = [directions.has('request'), directions.has('answer')]
  const isObject = schema.properties !== undefined
  if (inRequest && schema.readOnly === true)
    return `${name} is \`readOnly\`, which has no effect in a request: delete it from the request's schema`
  if (inAnswer && schema.writeOnly === true)
    return `${name} is \`writeOnly\`, which has no effect in an answer: delete it from the answer's schema`
  if (inRequest && inAnswer && (isObject || hasEnum))
    return (
      `${name} is in requests and in answers. Declare it twice: ` + 'closed for requests, open for answers'
    )
  if (inRequest && isObject && schema.additionalProperties !== false)
    return `${name} is in requests, so it must have \`additionalProperties: false\``
  if (inAnswer && isObject && schema.additionalProperties === false)
    return (
      `${name} is in answers, so it must not have \`additionalProperties\`: ` +
      'later versions may add properties'
    )
  return null
}

/** `Project.settings` for a schema in components, else its place in the operation. */
function nameOf(pointer: string): string {
  const [, ...keys] = pointer.split('/')
  const path = keys[0] === 'components' && keys[1] === 'schemas' ? keys.slice(2) : keys
  return path.filter((key) => key !== 'properties').join('.')
}
