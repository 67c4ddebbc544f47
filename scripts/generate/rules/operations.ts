// Rules for operations: scopes, idempotency, preconditions, paging and bodies must be declared.
import { includeName } from '../model.ts'
import { eachOperation, header, parametersOf, resolved, responseOfRead } from './visit.ts'

const projectRoles = ['none', 'viewer', 'editor', 'admin', 'owner']
const organizationRoles = ['none', 'member', 'admin', 'owner']

export const operationRules = {
  /** The server streams a form's file, so there can be only one. */
  'form-has-one-file': eachOperation((operation, { ctx, location }) => {
    const media = resolved(operation.requestBody, ctx)?.content?.['multipart/form-data']
    if (media === undefined) return
    const schema = resolved(media.schema, ctx)
    const files = Object.keys(schema?.properties ?? {}).filter(
      (name) => resolved(schema.properties[name], ctx)?.format === 'binary',
    )
    if (files.length !== 1 || !schema.required?.includes(files[0])) {
      ctx.report({
        message:
          'a multipart/form-data body must have exactly one property of format `binary`, a required one',
        location: location.child('requestBody').key(),
      })
    }
  }),
  /** Generated code, handlers, logs and clients use this name. */
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
        message: 'an operation must have exactly one tag, which names the module of its handler',
        location: operation.tags === undefined ? location.key() : location.child('tags'),
      })
  }),
  /** A redirect counts as success: HTML forms are answered with one. */
  'operation-succeeds': eachOperation((operation, { ctx, location }) => {
    if (!Object.keys(operation.responses ?? {}).some((status) => /^[23]/.test(status)))
      ctx.report({
        message: 'an operation must have at least one success response',
        location: location.child('responses').key(),
      })
  }),
  'known-scopes': eachOperation((operation, { root, ctx, location }) => {
    const security = operation.security
    if (security === undefined) {
      ctx.report({
        message: 'an operation must list its scopes in `security` (`[]` if it is public)',
        location: location.key(),
      })
      return
    }
    if (!Array.isArray(security)) {
      ctx.report({
        message: '`security` must be a list: `[{ apiKey: [SCOPE] }]`',
        location: location.child('security'),
      })
      return
    }
    security.forEach((alternative: any, i: number) => {
      for (const [scheme, scopes] of Object.entries<string[]>(alternative)) {
        if (!Array.isArray(scopes)) {
          ctx.report({
            message: `the scopes of \`${scheme}\` must be a list: \`[${String(scopes)}]\``,
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
        message:
          'an operation may have only one security scheme, because the server knows only API keys: write ' +
          'one alternative, with `{}` beside it if the key is optional',
        location: location.child('security'),
      })
    security.forEach((alternative: any, i: number) => {
      if (Object.keys(alternative).length > 1)
        ctx.report({
          message:
            'two security schemes together are not supported, because only one is read: write one scheme ' +
            'with all scopes',
          location: location.child(['security', i]),
        })
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
  'post-is-idempotent': eachOperation((operation, { path, method, root, ctx, location }) => {
    if (method !== 'post' || operation.security?.length === 0 || implies(root, 'parameters', 'post')) return
    if (!parametersOf(operation, path, ctx).some((p) => p.name === 'Idempotency-Key')) {
      ctx.report({ message: 'a POST must have the parameter IdempotencyKey', location: location.key() })
    }
  }),
  'write-is-conditional': eachOperation((operation, { path, method, root, rootFile, ctx, location }) => {
    if (method !== 'put' && method !== 'delete') return
    const takes = parametersOf(operation, path, ctx).some((p) => p.name === 'If-Match')
    if (!takes && !implies(root, 'parameters', 'write')) {
      ctx.report({
        message: `a ${method.toUpperCase()} must have the parameter IfMatch`,
        location: location.key(),
      })
    }
    const named = operation['x-entity']
    const read =
      named === undefined
        ? resolved(path.get?.responses?.['200'], ctx)
        : responseOfRead(named, root, rootFile, ctx)
    const isImplied =
      read?.content?.['application/json'] !== undefined && implies(root, 'headers', 'resource')
    if (!isImplied && !header(read, 'ETag')) {
      ctx.report({
        message:
          (named === undefined
            ? `a ${method.toUpperCase()} needs a GET on its path that declares the header ETag, `
            : '`x-entity` must be the id of a GET operation that declares the header ETag, ') +
          'which If-Match is compared with',
        location: named === undefined ? location.key() : location.child('x-entity'),
      })
    }
  }),
  'read-is-conditional': eachOperation((operation, { path, method, ctx, location }) => {
    if (method !== 'get') return
    const takes = parametersOf(operation, path, ctx).some((p) => p.name === 'If-None-Match')
    const gives = header(resolved(operation.responses?.['200'], ctx), 'ETag')
    if (takes !== gives)
      ctx.report({
        message: 'the parameter IfNoneMatch requires the header ETag, and the reverse',
        location: location.key(),
      })
  }),
  /** A client finds what it has created, and can change it without reading it again. */
  'creation-is-conditional': eachOperation((operation, { root, ctx, location }) => {
    const created = resolved(operation.responses?.['201'], ctx)
    if (created === undefined || implies(root, 'headers', 'created')) return
    for (const name of ['Location', 'ETag'])
      if (!header(created, name))
        ctx.report({
          message: `a 201 must declare the header ${name}`,
          location: location.child(['responses', '201']).key(),
        })
  }),
  /** The server itself answers `Range` and the conditional headers of a request for bytes. */
  'file-in-parts': eachOperation((operation, { path, method, ctx, location }) => {
    const ok = resolved(operation.responses?.['200'], ctx)
    const isFile = Object.values<any>(ok?.content ?? {}).some(
      ({ schema }) => resolved(schema, ctx)?.format === 'binary',
    )
    if (method !== 'get' || !isFile) return
    const at = location.child(['responses', '200']).key()
    const names = parametersOf(operation, path, ctx).map((p) => p.name)
    const statuses = ['206', '416', ...(names.includes('If-None-Match') ? [] : ['304'])]
    for (const status of statuses)
      if (operation.responses[status] === undefined)
        ctx.report({
          message:
            `a file is served in parts and conditionally, so the operation must declare ${status}` +
            (status === '304' ? ', or the parameter IfNoneMatch, which implies it' : ''),
          location: at,
        })
    for (const name of ['ETag', 'Accept-Ranges'])
      if (!header(ok, name))
        ctx.report({ message: `the 200 of a file must declare the header ${name}`, location: at })
  }),
  /** The server writes the Link header of every response with the page number in `pagination`. */
  'list-is-paged': eachOperation((operation, { path, method, root, ctx, location }) => {
    const ok = resolved(operation.responses?.['200'], ctx)
    const schema = resolved(ok?.content?.['application/json']?.schema, ctx)
    const pagination = resolved(schema?.properties?.pagination, ctx)
    if (method !== 'get' || pagination?.properties?.page === undefined) return
    const names = new Set(parametersOf(operation, path, ctx).map((p) => p.name))
    const areImplied = implies(root, 'parameters', 'paged')
    for (const name of areImplied ? ['sort'] : ['page', 'limit', 'sort', 'order']) {
      if (!names.has(name))
        ctx.report({ message: `a list must have the parameter \`${name}\``, location: location.key() })
    }
    if (!header(ok, 'Link') && !implies(root, 'headers', 'paged'))
      ctx.report({
        message: 'a list must declare the header Link',
        location: location.child(['responses', '200']).key(),
      })
  }),
  /** `include` adds the users of the properties with `x-user-of`. */
  'included-users': eachOperation((operation, { path, ctx, location }) => {
    const include = parametersOf(operation, path, ctx).find((p) => p.name === 'include' && p.in === 'query')
    const ok = resolved(operation.responses?.['200'], ctx)
    const schema = resolved(ok?.content?.['application/json']?.schema, ctx)
    const data = resolved(schema?.properties?.data, ctx)
    const properties = resolved(data?.items ?? schema, ctx)?.properties ?? {}
    const ids: string[] = Object.values<any>(properties).flatMap((property) => property['x-user-of'] ?? [])
    if (include === undefined || ids.length === 0) return
    const names = ids.map(includeName)
    const values: string[] = resolved(resolved(include.schema, ctx)?.items, ctx)?.enum ?? []
    if (new Set([...names, ...values]).size !== names.length || values.length !== names.length)
      ctx.report({
        message: `the values of \`include\` must be those of \`x-user-of\`: ${names.join(', ')}`,
        location: location.key(),
      })
    for (const id of ids)
      if (properties[id] === undefined)
        ctx.report({ message: `\`x-user-of\` names no property: ${id}`, location: location.key() })
  }),
  'project-access': eachOperation((operation, { url, root, ctx, location }) => {
    const access = operation['x-project-access']
    if (url.startsWith('/projects/{id}') && access === undefined) {
      ctx.report({
        message: 'an operation on a project must state the required role in x-project-access',
        location: location.key(),
      })
    }
    if (access === undefined) return
    const at = location.child('x-project-access')
    for (const message of accessProblems('x-project-access', access, projectRoles, root['x-scopes']))
      ctx.report({ message, location: at })
    for (const state of access.states ?? []) {
      if (!['active', 'archived', 'deleted'].includes(state)) {
        ctx.report({
          message: `unknown state \`${state}\`; use active, archived or deleted`,
          location: at,
        })
      }
    }
  }),
  'organization-access': eachOperation((operation, { url, root, ctx, location }) => {
    const access = operation['x-organization-access']
    if (access === undefined) {
      if (url.includes('{') && hasOrganizationScope(operation))
        ctx.report({
          message: 'an operation on an organization must state the required role in x-organization-access',
          location: location.key(),
        })
      return
    }
    const at = location.child('x-organization-access')
    for (const message of accessProblems(
      'x-organization-access',
      access,
      organizationRoles,
      root['x-scopes'],
    ))
      ctx.report({ message, location: at })
  }),
  'raw-is-json': eachOperation((operation, { ctx, location }) => {
    const body = resolved(operation.requestBody, ctx)
    if (body?.['x-raw'] === undefined || Object.keys(body.content ?? {}).join() === 'application/json') return
    ctx.report({
      message: 'x-raw requires a body that is only application/json',
      location: location.child('requestBody').key(),
    })
  }),
  /** URL-encoded forms send only text. */
  'fields-are-text': eachOperation((operation, { ctx, location }) => {
    const schema = resolved(
      resolved(operation.requestBody, ctx)?.content?.['application/x-www-form-urlencoded']?.schema,
      ctx,
    )
    for (const [name, property] of Object.entries<any>(schema?.properties ?? {})) {
      if (resolved(property, ctx)?.type !== 'string')
        ctx.report({
          message: `the form field \`${name}\` must be a string`,
          location: location.child('requestBody').key(),
        })
    }
  }),
  'body-has-schema': eachOperation((operation, { ctx, location }) => {
    for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
      const content = resolved(response, ctx)?.content
      if (isEmpty(content))
        ctx.report({
          message: `the \`content\` of ${status} has no media type; omit it if there is no body`,
          location: location.child(['responses', status]).key(),
        })
      for (const [type, media] of Object.entries<any>(content ?? {})) {
        if (media.schema === undefined && media['x-stream-events'] === undefined)
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

/** The problems of a declared role, and of `operators`. */
function accessProblems(
  name: string,
  { role, operators }: any,
  roles: string[],
  scopes: Record<string, string> = {},
): string[] {
  const known = `${roles.slice(0, -1).join(', ')} or ${roles.at(-1)}`
  return [
    ...(roles.includes(role) ? [] : [`unknown role \`${role}\`; use ${known}`]),
    ...(operators === undefined || scopes[operators] !== undefined
      ? []
      : [`operators of ${name} is the scope of those who need no role, or left out`]),
  ]
}

function hasOrganizationScope({ security }: any): boolean {
  const scopes = Object.values<string[]>(security?.[0] ?? {}).flat()
  return scopes.some((scope) => scope.startsWith('organizations:'))
}

/** Whether the document adds the parameters or headers of the condition to the operations. */
function implies(root: any, what: 'parameters' | 'headers', when: string): boolean {
  return root[`x-implied-${what}`]?.[when] !== undefined
}

function isEmpty(content: unknown): boolean {
  return typeof content === 'object' && content !== null && Object.keys(content).length === 0
}
