// Every request and response must have an example. Examples are assembled from those of schemas and
// properties.
import { eachOperation, parametersOf, resolved, type Context } from './visit.ts'

/** A schema with one of these keywords needs no example. */
const exampleKeywords = ['example', 'examples', 'default', 'const', 'enum', 'x-event-types', 'x-error-code']

export const exampleRules = {
  'has-example': () => {
    const seen = new Set<unknown>()

    /** @param chosen the property whose values a discriminator gives. */
    function requireExample(
      schema: any,
      location: any,
      ctx: any,
      name: string,
      operation: string,
      chosen?: string,
    ): void {
      if (
        typeof schema !== 'object' ||
        schema === null ||
        exampleKeywords.some((key) => Object.hasOwn(schema, key))
      )
        return
      if (schema.$ref !== undefined) {
        const target = ctx.resolve(schema, location.source.absoluteRef)
        if (target.location !== undefined)
          requireExample(target.node, target.location, ctx, name, operation, chosen)
        return
      }
      if (seen.has(schema)) return
      seen.add(schema)
      for (const [property, node] of Object.entries<any>(schema.properties ?? {}))
        if (property !== chosen)
          requireExample(node, location.child(['properties', property]), ctx, property, operation)
      for (const [i, part] of (schema.allOf ?? []).entries())
        requireExample(part, location.child(['allOf', i]), ctx, name, operation)
      const either = schema.oneOf === undefined ? 'anyOf' : 'oneOf'
      if (schema[either]?.[0]?.required === undefined) {
        const place = location.child([either, 0])
        requireExample(schema[either]?.[0], place, ctx, name, operation, schema.discriminator?.propertyName)
      }
      if (schema.items !== undefined)
        requireExample(schema.items, location.child('items'), ctx, name, operation)
      const types: string[] = [schema.type].flat()
      if (
        schema.format !== 'binary' &&
        types.some((type) => ['string', 'number', 'integer'].includes(type))
      ) {
        ctx.report({
          message: `\`${name}\` of ${operation} has no example: add \`examples\` to it or its parent`,
          location: location.key(),
        })
      }
    }

    return eachOperation((operation, { path, ctx, location }) => {
      const id = operation.operationId ?? 'the operation'
      const checkContent = (content: Record<string, any>, at: any): void => {
        for (const [type, media] of Object.entries(content)) {
          if (media.example !== undefined || media.examples !== undefined) continue
          if (type === 'application/json' || type.includes('form'))
            requireExample(media.schema, at.child(['content', type, 'schema']), ctx, 'the body', id)
          for (const [event, schema] of Object.entries(media['x-stream-events'] ?? {}))
            requireExample(schema, at.child(['content', type, 'x-stream-events', event]), ctx, event, id)
        }
      }
      const follow = (node: any, at: any): { node: any; at: any } => {
        if (node?.$ref === undefined) return { node, at }
        const target = (ctx as Context & { resolve(node: any, from: string): any }).resolve(
          node,
          at.source.absoluteRef,
        )
        return target.location === undefined
          ? { node: {}, at }
          : { node: target.node ?? {}, at: target.location }
      }
      const body = follow(operation.requestBody ?? {}, location.child('requestBody'))
      checkContent(body.node.content ?? {}, body.at)
      for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
        if (!status.startsWith('2')) continue
        const found = follow(response, location.child(['responses', status]))
        checkContent(found.node.content ?? {}, found.at)
      }
      for (const parameter of parametersOf(operation, path, ctx)) {
        if (parameter.required !== true || parameter.example !== undefined) continue
        const schema = resolved(parameter.schema, ctx)
        if (schema !== undefined && !exampleKeywords.some((key) => Object.hasOwn(schema, key)))
          ctx.report({
            message:
              `parameter \`${parameter.name}\` of ${id} has no example: ` + 'add `examples` to its schema',
            location: location.key(),
          })
      }
    })()
  },
}
