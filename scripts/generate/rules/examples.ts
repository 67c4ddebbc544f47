// That every operation shows what is sent and what comes back: examples are assembled from those of schemas and properties, and nothing in them is made up.
import { eachOperation, parametersOf, resolved, type Context } from './visit.ts'

/** What says by itself what a value looks like. */
const telling = ['example', 'examples', 'default', 'const', 'enum', 'x-event-types', 'x-error-code']

export const exampleRules = {
  'has-example': () => {
    // Each schema is looked at once, whoever refers to it.
    const seen = new Set<unknown>()

    function look(schema: any, location: any, ctx: any, name: string, operation: string): void {
      if (typeof schema !== 'object' || schema === null || telling.some((key) => Object.hasOwn(schema, key)))
        return
      if (schema.$ref !== undefined) {
        const target = ctx.resolve(schema, location.source.absoluteRef)
        if (target.location !== undefined) look(target.node, target.location, ctx, name, operation)
        return
      }
      if (seen.has(schema)) return
      seen.add(schema)
      for (const [property, node] of Object.entries<any>(schema.properties ?? {}))
        look(node, location.child(['properties', property]), ctx, property, operation)
      for (const [i, part] of (schema.allOf ?? []).entries())
        look(part, location.child(['allOf', i]), ctx, name, operation)
      const either = schema.oneOf === undefined ? 'anyOf' : 'oneOf'
      if (schema[either]?.[0]?.required === undefined)
        look(schema[either]?.[0], location.child([either, 0]), ctx, name, operation)
      if (schema.items !== undefined) look(schema.items, location.child('items'), ctx, name, operation)
      const types: string[] = [schema.type].flat()
      if (
        schema.format !== 'binary' &&
        types.some((type) => ['string', 'number', 'integer'].includes(type))
      ) {
        ctx.report({
          message: `nothing shows what \`${name}\` of ${operation} looks like: give it, or what it is in, \`examples\``,
          location: location.key(),
        })
      }
    }

    return eachOperation((operation, { path, ctx, location }) => {
      const id = operation.operationId ?? 'the operation'
      const lookAtMedia = (content: Record<string, any>, at: any): void => {
        for (const [type, media] of Object.entries(content)) {
          if (media.example !== undefined || media.examples !== undefined) continue
          if (type === 'application/json' || type.includes('form'))
            look(media.schema, at.child(['content', type, 'schema']), ctx, 'the body', id)
          for (const [event, schema] of Object.entries(media['x-stream-events'] ?? {}))
            look(schema, at.child(['content', type, 'x-stream-events', event]), ctx, event, id)
        }
      }
      const follow = (node: any, at: any): { node: any; at: any } => {
        if (node?.$ref === undefined) return { node, at }
        const target = (ctx as Context & { resolve(node: any, from: string): any }).resolve(
          node,
          at.source.absoluteRef,
        )
        return target.location === undefined ? { node: {}, at } : { node: target.node, at: target.location }
      }
      const body = follow(operation.requestBody ?? {}, location.child('requestBody'))
      lookAtMedia(body.node.content ?? {}, body.at)
      for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
        if (!status.startsWith('2')) continue
        const found = follow(response, location.child(['responses', status]))
        lookAtMedia(found.node.content ?? {}, found.at)
      }
      for (const parameter of parametersOf(operation, path, ctx)) {
        if (parameter.required !== true || parameter.example !== undefined) continue
        const schema = resolved(parameter.schema, ctx)
        if (schema !== undefined && !telling.some((key) => Object.hasOwn(schema, key)))
          ctx.report({
            message: `nothing shows what the parameter \`${parameter.name}\` of ${id} looks like: give its schema \`examples\``,
            location: location.key(),
          })
      }
    })()
  },
}
