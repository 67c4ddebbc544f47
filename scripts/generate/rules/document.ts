// Rules for paths, references and the document as a whole: everything that the generator would silently
// ignore.
import mediaTypes from 'mime-db/db.json' with { type: 'json' }
import { headerConditions } from '../implied-headers.ts'
import { conditions as parameterConditions } from '../implied-parameters.ts'
import { conditions } from '../implied-responses.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { eachOperation, resolved, type Context } from './visit.ts'

export const documentRules = {
  'implied-parameters': () => ({
    Root: {
      enter(root: any, ctx: Context) {
        for (const [when, names] of Object.entries<string[]>(root['x-implied-parameters'] ?? {})) {
          const location = ctx.location.child(['x-implied-parameters', when])
          if (parameterConditions[when] === undefined)
            ctx.report({
              message: `unknown \`${when}\`: ${Object.keys(parameterConditions).join(', ')}`,
              location: location.key(),
            })
          for (const [i, name] of names.entries())
            if (root.components?.parameters?.[name] === undefined)
              ctx.report({
                message: `components/parameters has no \`${name}\``,
                location: location.child(i),
              })
        }
      },
    },
  }),
  'implied-responses': () => ({
    Root: {
      enter(root: any, ctx: Context) {
        for (const [when, responses] of Object.entries<any>(root['x-implied-responses'] ?? {})) {
          const location = ctx.location.child(['x-implied-responses', when])
          if (conditions[when] === undefined)
            ctx.report({
              message: `unknown \`${when}\`: ${Object.keys(conditions).join(', ')}`,
              location: location.key(),
            })
          for (const [status, name] of Object.entries<string>(responses)) {
            if (root.components?.responses?.[name] === undefined)
              ctx.report({
                message: `components/responses has no \`${name}\``,
                location: location.child(status),
              })
            if (!/^[345]\d\d$/.test(status))
              ctx.report({
                message: `\`${status}\`: an implied response must be 304 or an error (three digits)`,
                location: location.child(status).key(),
              })
          }
        }
      },
    },
  }),
  'implied-headers': () => ({
    Root: {
      enter(root: any, ctx: Context) {
        for (const [when, headers] of Object.entries<any>(root['x-implied-headers'] ?? {})) {
          const location = ctx.location.child(['x-implied-headers', when])
          if (headerConditions[when] === undefined)
            ctx.report({
              message: `unknown \`${when}\`: ${Object.keys(headerConditions).join(', ')}`,
              location: location.key(),
            })
          for (const [field, name] of Object.entries<string>(headers)) {
            if (root.components?.headers?.[name] === undefined)
              ctx.report({
                message: `components/headers has no \`${name}\``,
                location: location.child(field),
              })
          }
        }
      },
    },
  }),
  /** Documentation tools omit a misspelled tag and repeat a tag that is in two groups. */
  'tag-groups': () => ({
    Root: {
      enter(root: any, ctx: Context) {
        const declared = new Set(root.tags?.map((tag: any) => tag.name))
        const grouped = new Set<string>()
        for (const [i, group] of Object.entries<any>(root['x-tagGroups'] ?? {})) {
          for (const [j, tag] of Object.entries<string>(group?.tags ?? {})) {
            const location = ctx.location.child(['x-tagGroups', Number(i), 'tags', Number(j)])
            if (!declared.has(tag)) ctx.report({ message: `\`tags\` declares no \`${tag}\``, location })
            if (grouped.has(tag)) ctx.report({ message: `\`${tag}\` is in more than one group`, location })
            grouped.add(tag)
          }
        }
      },
    },
  }),
  'known-method': () => ({
    PathItem: {
      enter(path: any, ctx: Context) {
        for (const method of ['head', 'trace', 'query']) {
          if (path[method] !== undefined)
            ctx.report({
              message:
                `${method.toUpperCase()} is not supported; ` +
                `use ${methods.join(', ')} (GET includes HEAD)`,
              location: ctx.location.child(method).key(),
            })
        }
      },
    },
  }),
  /** The router supports parameters only as whole segments, with names of letters, digits and `_`. */
  'path-segments': () => ({
    Paths: {
      enter(paths: any, ctx: Context) {
        for (const path of Object.keys(paths)) {
          if (!path.startsWith('/'))
            ctx.report({
              message: `\`${path}\`: a path must start with \`/\``,
              location: ctx.location.child(path).key(),
            })
          for (const segment of path.split('/')) {
            if (/[{}]/.test(segment) && !/^\{[a-z][a-z0-9_]*\}$/.test(segment)) {
              ctx.report({
                message:
                  `\`${segment}\`: a path parameter must be a whole segment with a snake_case name, ` +
                  'such as `{project_id}`',
                location: ctx.location.child(path).key(),
              })
            }
          }
        }
      },
    },
  }),
  /** OpenAPI ignores siblings of `$ref`, except in a schema. */
  'reference-alone': () => ({
    ref: {
      enter(node: any, ctx: Context) {
        if (ctx.type.name === 'Schema') {
          if (!/(^|#)\/components\/schemas\/[^/]+/.test(node.$ref))
            ctx.report({
              message: 'a schema may refer only to components/schemas',
              location: ctx.location.child('$ref'),
            })
          return
        }
        for (const key of Object.keys(node)) {
          if (!['$ref', 'summary', 'description'].includes(key))
            ctx.report({
              message: `\`${key}\` beside a $ref is ignored, except in a schema`,
              location: ctx.location.child(key).key(),
            })
        }
      },
    },
  }),
  'numbered-status': eachOperation((operation, { ctx, location }) => {
    for (const status of Object.keys(operation.responses ?? {})) {
      if (!/^[1-5]\d\d$/.test(status))
        ctx.report({
          message:
            `\`${status}\`: a response must have a three-digit status, because handlers and tests are ` +
            'checked against each: write every status, or imply it for all operations in x-implied-responses',
          location: location.child(['responses', status]).key(),
        })
    }
  }),
  'one-media-type': eachOperation((operation, { ctx, location }) => {
    for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
      // A handler that may stream answers with events or with JSON.
      const media = Object.values<any>(resolved(response, ctx)?.content ?? {}).filter(
        (each) => each['x-stream-events'] === undefined,
      )
      // A handler chooses the media type of a file by `acceptedType`.
      if (media.length > 1 && !media.every(({ schema }) => resolved(schema, ctx)?.format === 'binary'))
        ctx.report({
          message:
            `the response ${status} has more than one media type and is not a file: a handler chooses only ` +
            'the type of a file (`format: binary`), so write an operation for each type',
          location: location.child(['responses', status]).key(),
        })
    }
  }),
  /** A body of another type would be refused or not be validated. */
  'known-media-type': eachOperation((operation, { ctx, location }) => {
    const follow = (node: any, from: any): { node: any; location?: any } =>
      node?.$ref === undefined ? { node, location: from } : ctx.resolve(node, from.source.absoluteRef)
    const check = (holder: any, from: any, isRequest: boolean): void => {
      const { node, location: there } = follow(holder, from)
      for (const [type, media] of Object.entries<any>(node?.content ?? {})) {
        const place = there.child(['content', type])
        const schema = follow(media?.schema, place.child('schema')).node
        const problem = mediaTypeProblem(type, { schema, isRequest })
        if (problem !== null) ctx.report({ message: problem, location: place.key() })
      }
    }
    check(operation.requestBody, location.child('requestBody'), true)
    for (const [status, response] of Object.entries<any>(operation.responses ?? {}))
      check(response, location.child(['responses', status]), false)
  }),
  /** The server accepts a key only as `Authorization: Bearer`. */
  'bearer-scheme': () => ({
    Root: {
      enter(root: any, ctx: Context) {
        for (const [name, declared] of Object.entries<any>(root.components?.securitySchemes ?? {})) {
          const { type, scheme } = resolved(declared, ctx) ?? {}
          if (type !== 'http' || String(scheme).toLowerCase() !== 'bearer')
            ctx.report({
              message:
                `the server does not support the security scheme \`${name}\`: ` +
                'declare `type: http` and `scheme: bearer`',
              location: ctx.location.child(['components', 'securitySchemes', name]).key(),
            })
        }
      },
    },
  }),
  /** Both paths would have the same operationIds. */
  'path-item-once': () => ({
    Paths: {
      enter(paths: any, ctx: Context) {
        const first = new Map<string, string>()
        for (const [path, item] of Object.entries<any>(paths)) {
          if (item?.$ref === undefined) continue
          const target = ctx.resolve(item).location?.absolutePointer ?? item.$ref
          const other = first.get(target)
          if (other === undefined) first.set(target, path)
          else
            ctx.report({
              message:
                `\`${path}\` and \`${other}\` refer to the same path item, so their operations have the ` +
                'same operationIds: give one of them its own',
              location: ctx.location.child(path).key(),
            })
        }
      },
    },
  }),
}

const jsonType = 'application/json'
const parsedTypes = [jsonType, 'multipart/form-data', 'application/x-www-form-urlencoded']
/** Types that are in use but not registered: those of tus and of event streams, and any type. */
const otherTypes = ['application/offset+octet-stream', 'text/event-stream', '*/*']

function mediaTypeProblem(
  type: string,
  { schema, isRequest }: { schema: any; isRequest: boolean },
): string | null {
  const isFile = schema?.format === 'binary'
  const isText = [schema?.type].flat().includes('string')
  if (isRequest && type === 'application/merge-patch+json')
    return (
      `no parser reads \`${type}\`: write \`${jsonType}\`. A PUT without x-replaces merges, and the ` +
      'generator publishes it as PATCH, too'
    )
  if (isRequest && !isFile && !parsedTypes.includes(type))
    return (
      `no parser reads a \`${type}\` request body, so it would not be validated: ` +
      `use ${parsedTypes.join(', ')}, or \`format: binary\``
    )
  if (!isRequest && !isFile && !isText && type !== jsonType && type !== 'text/event-stream')
    return `a \`${type}\` response must be text or a file; a JSON body is \`${jsonType}\``
  if (!Object.hasOwn(mediaTypes, type) && !otherTypes.includes(type))
    return `\`${type}\` is not a registered media type; is it misspelled?`
  return null
}
