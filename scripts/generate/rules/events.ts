// Rules for declared events and event streams.
import { eachOperation, resolved, type Context } from './visit.ts'

export const eventRules = {
  'event-declared': () => {
    let scopes: Record<string, unknown> = {}
    return {
      Root: {
        enter(root: any) {
          scopes = root['x-scopes'] ?? {}
        },
      },
      EventDeclaration: {
        enter(event: any, ctx: Context) {
          const { location } = ctx
          if (!/^[a-z][a-z_]*\.[a-z][a-z_]*$/.test(String(ctx.key)))
            ctx.report({
              message: `event type \`${ctx.key}\` must be resource and action: \`project.created\``,
              location: location.key(),
            })
          if (scopes[event.scope] === undefined)
            ctx.report({
              message: `unknown scope \`${event.scope}\`; x-scopes in openapi.yaml lists them`,
              location: location.child('scope'),
            })
          const { project, organization, audience, role } = event
          const isPlaceless = project === undefined && organization === undefined
          if (audience === undefined ? isPlaceless : project !== undefined)
            ctx.report({
              message:
                'an event must have either `project`, the field with the project id, or `audience`, or ' +
                '`organization`; with it, `audience` is that of events without an organization',
              location: location.key(),
            })
          if (role !== undefined && audience !== undefined)
            ctx.report({
              message: '`role` is allowed only with `project` or `organization`',
              location: location.child('role'),
            })
          if (event.object?.$ref === undefined)
            ctx.report({
              message: '`object` must be a $ref to components/schemas',
              location: location.child('object'),
            })
          const properties = resolved(event.object, ctx)?.properties
          for (const place of ['project', 'organization'])
            if (event[place] !== undefined && properties !== undefined && !(event[place] in properties))
              ctx.report({
                message: `the object of the event has no \`${event[place]}\``,
                location: location.child(place),
              })
        },
      },
    }
  },
  'stream-declared': eachOperation((operation, { ctx, location }) => {
    for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
      for (const [type, media] of Object.entries<any>(resolved(response, ctx)?.content ?? {})) {
        const at = location.child(['responses', status, 'content', type])
        const events = media['x-stream-events']
        if ((type === 'text/event-stream') !== (events !== undefined))
          ctx.report({
            message: '`text/event-stream` requires `x-stream-events`, and the reverse',
            location: at.key(),
          })
        if (events !== undefined && media.schema !== undefined)
          ctx.report({
            message: 'a stream has no `schema`; the generator writes it from `x-stream-events`',
            location: at.child('schema').key(),
          })
        for (const [i, name] of (media['x-stream-ends'] ?? []).entries()) {
          if (events?.[name] === undefined)
            ctx.report({
              message: `\`${name}\` is not an event of the stream`,
              location: at.child(['x-stream-ends', i]),
            })
        }
        for (const part of media['x-stream-answer'] === undefined ? [] : ['start', 'delta', 'final']) {
          const name = media['x-stream-answer'][part]
          if (events?.[name] === undefined)
            ctx.report({
              message: `\`${part}\` must be an event of the stream`,
              location: at.child(['x-stream-answer']),
            })
        }
        for (const [name, schema] of Object.entries<any>(events ?? {})) {
          if (schema.$ref === undefined)
            ctx.report({
              message: `the data of \`${name}\` must be a $ref to components/schemas`,
              location: at.child(['x-stream-events', name]).key(),
            })
        }
      }
    }
  }),
}
