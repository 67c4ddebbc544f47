// Adds the responses of x-implied-responses to each operation, depending on what the operation declares.
// Operations that return HTML pages, or have `x-html-errors`, also get HTML as a media type of their errors.
import { methods } from '@platform-api/openapi/methods.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

/** An operation and what it inherits. */
export interface Declared {
  document: Json
  /** The path item of the operation. */
  path: Json
  url: string
  operation: Json
  method: string
  parameters: Json[]
}

const takes =
  (name: string) =>
  ({ parameters }: Declared): boolean =>
    parameters.some((p) => p.name === name)
/** Whether responses are stored by Idempotency-Key. */
export const usesIdempotency = takes('Idempotency-Key')
export function isSecured({ document, operation }: Declared): boolean {
  return (operation.security ?? document.security ?? []).length > 0
}
/** Whether some key may not call it. */
function isRestricted({ document, operation }: Declared): boolean {
  const security: Record<string, string[]>[] = operation.security ?? document.security ?? []
  return (
    operation['x-project-access'] !== undefined ||
    operation['x-organization-access'] !== undefined ||
    operation['x-unlimited-key'] === true ||
    operation['x-needs-session'] === true ||
    security.some((schemes) => Object.values(schemes).some((scopes) => scopes.length > 0))
  )
}
/** Whether requests count against a rate limit. */
export function isCounted(declared: Declared): boolean {
  return declared.operation['x-rate-limit'] !== undefined || isSecured(declared)
}
/** Whether two requests with one path can differ. */
const hasContent = ({ operation, parameters }: Declared): boolean =>
  operation.requestBody !== undefined || parameters.some((p) => p.in === 'query')

/** The condition of each group of x-implied-responses. */
export const conditions: Record<string, (declared: Declared) => boolean> = {
  every: () => true,
  // The server ignores `Accept` for streams, bytes and pages.
  json: ({ document, operation }) =>
    Object.entries<Json>(operation.responses).some(
      ([status, r]) => status < '300' && resolve(document, r).content?.['application/json'] !== undefined,
    ),
  secured: isSecured,
  restricted: isRestricted,
  counted: isCounted,
  // A client may send a body even if the operation declares none.
  body: ({ method }) => method !== 'get' && method !== 'options',
  resource: ({ parameters }) => parameters.some((p) => p.in === 'path'),
  idempotent: usesIdempotency,
  'idempotent-content': (declared) => usesIdempotency(declared) && hasContent(declared),
  'files-origin': ({ operation }) => operation['x-files-origin'] === true,
  'conditional-read': takes('If-None-Match'),
  'conditional-write': takes('If-Match'),
  // The status of the project may not allow the write.
  'project-status': ({ method, operation }) =>
    method !== 'get' && operation['x-project-access']?.states !== undefined,
}

/** Changes `document`. The operation's own responses take precedence. */
export function addImpliedResponses(document: Json): void {
  const implied = Object.entries<Record<string, string>>(document['x-implied-responses'] ?? {})
  for (const declared of declaredOperations(document)) {
    const { operation } = declared
    const all: Record<string, Json> = {}
    for (const [when, responses] of implied) {
      if (!conditions[when](declared)) continue
      for (const [status, name] of Object.entries(responses))
        all[status] = { $ref: `#/components/responses/${name}` }
    }
    Object.assign(all, operation.responses)
    const addPage = returnsPages(document, operation)
      ? (response: Json): Json => withPage(document, response)
      : (response: Json): Json => response
    operation.responses = Object.fromEntries(
      Object.keys(all)
        .sort()
        .map((status) => [status, addPage(all[status])]),
    )
  }
}

/** The operations of the bundled document. */
export function declaredOperations(document: Json): Declared[] {
  return Object.entries<Json>(document.paths).flatMap(([url, path]) =>
    methods
      .filter((method) => path[method] !== undefined)
      .map((method) => {
        const operation = path[method]
        const parameters = [...(path.parameters ?? []), ...(operation.parameters ?? [])]
        return {
          document,
          path,
          url,
          operation,
          method,
          parameters: parameters.map((p) => resolve(document, p)),
        }
      }),
  )
}

function returnsPages(document: Json, { responses, 'x-html-errors': htmlErrors }: Json): boolean {
  if (htmlErrors === true) return true
  return Object.values<Json>(responses).some((response) => {
    const page = resolve(document, response).content?.['text/html']
    // A file may be HTML, too; its errors are JSON.
    return page !== undefined && page.schema?.format !== 'binary'
  })
}

function withPage(document: Json, response: Json): Json {
  const { content, ...rest } = resolve(document, response)
  return content?.['application/json'] === undefined
    ? response
    : { ...rest, content: { ...content, 'text/html': { schema: { type: 'string' } } } }
}
