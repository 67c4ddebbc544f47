// What an operation has to declare so that it is never silently weaker than it reads.
import { eachOperation, header, parametersOf, resolved } from './visit.ts'

export const operationRules = {
  /** A form's file is streamed on to its place: it is one, and it comes last. */
  'form-has-one-file': eachOperation((operation, { ctx, location }) => {
    const media = resolved(operation.requestBody, ctx)?.content?.['multipart/form-data']
    if (media === undefined) return
    const schema = resolved(media.schema, ctx)
    const files = Object.keys(schema?.properties ?? {}).filter(
      (name) => resolved(schema.properties[name], ctx)?.format === 'binary',
    )
    if (files.length !== 1 || !schema.required?.includes(files[0])) {
      ctx.report({
        message: 'a multipart/form-data body has exactly one property of format `binary`, and it is required',
        location: location.child('requestBody').key(),
      })
    }
  }),
  /** Generated code, handlers, logs and clients all call an operation by this one name. */
  'operation-name': eachOperation((operation, { ctx, location }) => {
    if (operation.operationId !== undefined && !/^[a-z][A-Za-z0-9]+$/.test(operation.operationId)) {
      ctx.report({
        message: `operationId \`${operation.operationId}\` must be camelCase such as \`createProject\``,
        location: location.child('operationId'),
      })
    }
  }),
  /** A tag is a module of handlers/. */
  'operation-tag': eachOperation((operation, { ctx, location }) => {
    if (operation.tags?.length !== 1)
      ctx.report({
        message: 'an operation has exactly one tag, the module of its handler',
        location: operation.tags === undefined ? location.key() : location.child('tags'),
      })
  }),
  /** What a page's form asks for is answered by sending the browser on. */
  'operation-succeeds': eachOperation((operation, { ctx, location }) => {
    if (!Object.keys(operation.responses ?? {}).some((status) => /^[23]/.test(status)))
      ctx.report({
        message: 'an operation has at least one response that is a success',
        location: location.child('responses').key(),
      })
  }),
  'known-scopes': eachOperation((operation, { root, ctx, location }) => {
    const security = operation.security
    if (security === undefined) {
      ctx.report({
        message: 'an operation says its scopes in `security` (`[]` when it is public)',
        location: location.key(),
      })
      return
    }
    if (!Array.isArray(security)) {
      ctx.report({
        message: '`security` is a list: `[{ apiKey: [SCOPE] }]`',
        location: location.child('security'),
      })
      return
    }
    security.forEach((alternative: any, i: number) => {
      for (const [scheme, scopes] of Object.entries<string[]>(alternative)) {
        if (!Array.isArray(scopes)) {
          ctx.report({
            message: `the scopes of \`${scheme}\` are a list: \`[${String(scopes)}]\``,
            location: location.child(['security', i, scheme]),
          })
          continue
        }
        scopes.forEach((scope, j) => {
          if (root['x-scopes']?.[scope] === undefined) {
            ctx.report({
              message: `unknown scope \`${scope}\`; x-scopes in openapi.yaml lists them`,
              location: location.child(['security', i, scheme, j]),
            })
          }
        })
      }
    })
    if (security.filter((alternative: any) => Object.keys(alternative).length > 0).length > 1)
      ctx.report({
        message: 'one security scheme an operation: with alternatives the last refusal would win',
        location: location.child('security'),
      })
  }),
  'known-rate-limit': eachOperation((operation, { root, ctx, location }) => {
    const policy = operation['x-rate-limit']
    if (policy !== undefined && root['x-rate-limits']?.[policy] === undefined) {
      ctx.report({
        message: `unknown rate limit \`${policy}\`; x-rate-limits in openapi.yaml lists them`,
        location: location.child('x-rate-limit'),
      })
    }
  }),
  'post-is-idempotent': eachOperation((operation, { path, method, ctx, location }) => {
    if (method !== 'post' || operation.security?.length === 0) return
    if (!parametersOf(operation, path, ctx).some((p) => p.name === 'Idempotency-Key')) {
      ctx.report({ message: 'a POST takes the parameter IdempotencyKey', location: location.key() })
    }
  }),
  'write-is-conditional': eachOperation((operation, { path, method, ctx, location }) => {
    if (method !== 'put' && method !== 'delete') return
    if (!parametersOf(operation, path, ctx).some((p) => p.name === 'If-Match')) {
      ctx.report({
        message: `a ${method.toUpperCase()} takes the parameter IfMatch`,
        location: location.key(),
      })
    }
    if (!header(resolved(path.get?.responses?.['200'], ctx), 'ETag')) {
      ctx.report({
        message: `a ${method.toUpperCase()} needs a GET on its path that declares the header ETag: If-Match is held against it`,
        location: location.key(),
      })
    }
  }),
  'read-is-conditional': eachOperation((operation, { path, method, ctx, location }) => {
    if (method !== 'get') return
    const takes = parametersOf(operation, path, ctx).some((p) => p.name === 'If-None-Match')
    const gives = header(resolved(operation.responses?.['200'], ctx), 'ETag')
    if (takes !== gives)
      ctx.report({
        message: 'the parameter IfNoneMatch and the header ETag go together',
        location: location.key(),
      })
  }),
  /** The link between pages is written by the edge, for whatever has `pagination`. */
  'list-is-paged': eachOperation((operation, { path, method, ctx, location }) => {
    const ok = resolved(operation.responses?.['200'], ctx)
    const schema = resolved(ok?.content?.['application/json']?.schema, ctx)
    if (method !== 'get' || schema?.properties?.pagination === undefined) return
    const names = new Set(parametersOf(operation, path, ctx).map((p) => p.name))
    for (const name of ['page', 'limit', 'sort', 'order']) {
      if (!names.has(name))
        ctx.report({ message: `a list takes the parameter \`${name}\``, location: location.key() })
    }
    if (!header(ok, 'Link'))
      ctx.report({
        message: 'a list declares the header Link',
        location: location.child(['responses', '200']).key(),
      })
  }),
  'project-access': eachOperation((operation, { url, ctx, location }) => {
    const access = operation['x-project-access']
    if (url.startsWith('/projects/{id}') && access === undefined) {
      ctx.report({
        message: 'an operation on a project says in x-project-access which role it needs',
        location: location.key(),
      })
    }
    if (access === undefined) return
    if (!['none', 'viewer', 'editor', 'admin', 'owner'].includes(access.role)) {
      ctx.report({
        message: `unknown role \`${access.role}\`: none, viewer, editor, admin or owner`,
        location: location.child('x-project-access'),
      })
    }
    for (const state of access.states ?? []) {
      if (!['active', 'archived', 'deleted'].includes(state)) {
        ctx.report({
          message: `unknown state \`${state}\`: active, archived or deleted`,
          location: location.child('x-project-access'),
        })
      }
    }
  }),
  'raw-is-json': eachOperation((operation, { ctx, location }) => {
    const body = resolved(operation.requestBody, ctx)
    if (body?.['x-raw'] === undefined || Object.keys(body.content ?? {}).join() === 'application/json') return
    ctx.report({
      message: 'x-raw is for a body that is application/json and nothing else',
      location: location.child('requestBody').key(),
    })
  }),
  /** Nothing in a page's form has a type but text. */
  'fields-are-text': eachOperation((operation, { ctx, location }) => {
    const schema = resolved(
      resolved(operation.requestBody, ctx)?.content?.['application/x-www-form-urlencoded']?.schema,
      ctx,
    )
    for (const [name, property] of Object.entries<any>(schema?.properties ?? {})) {
      if (resolved(property, ctx)?.type !== 'string')
        ctx.report({
          message: `the field \`${name}\` of a form is text`,
          location: location.child('requestBody').key(),
        })
    }
  }),
  'body-has-schema': eachOperation((operation, { ctx, location }) => {
    for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
      const content = resolved(response, ctx)?.content
      if (isEmpty(content))
        ctx.report({
          message: `the \`content\` of ${status} has no media type; without it there is no body`,
          location: location.child(['responses', status]).key(),
        })
      for (const [type, media] of Object.entries<any>(content ?? {})) {
        if (media.schema === undefined)
          ctx.report({
            message: `the ${type} body of ${status} has no schema`,
            location: location.child(['responses', status]).key(),
          })
      }
    }
    const content = resolved(operation.requestBody, ctx)?.content
    if (isEmpty(content))
      ctx.report({
        message: 'the `content` of the request body has no media type',
        location: location.child('requestBody').key(),
      })
    for (const [type, media] of Object.entries<any>(content ?? {})) {
      if (media.schema === undefined)
        ctx.report({
          message: `the ${type} request body has no schema`,
          location: location.child('requestBody').key(),
        })
    }
  }),
}

function isEmpty(content: unknown): boolean {
  return typeof content === 'object' && content !== null && Object.keys(content).length === 0
}
