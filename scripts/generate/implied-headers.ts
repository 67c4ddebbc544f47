// Adds the headers of x-implied-headers to each response, depending on its operation and status.
import { declaredOperations, isCounted, usesIdempotency, type Declared } from './implied-responses.ts'
import { componentOf } from './schemas.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

/** The condition of each group of x-implied-headers. */
export const headerConditions: Record<string, (declared: Declared, status: string) => boolean> = {
  every: () => true,
  counted: isCounted,
  unavailable: (_, status) => status === '429' || status === '503',
  // Only a 409 may have it or not: another request that is in progress.
  refused: (_, status) => status >= '400' && status < '500' && status !== '408' && status !== '429',
  // Only successes are stored.
  replayable: (declared, status) => status.startsWith('2') && usesIdempotency(declared),
  created: (_, status) => status === '201',
  resource: (declared, status) =>
    status === '201' || (status === '200' && (readsResource(declared) || returnsResource(declared))),
  paged: ({ document, operation }, status) =>
    status === '200' &&
    hasPages(document, resolve(document, jsonOf(document, operation))?.properties?.pagination),
}

/** Whether the `pagination` of a list has page numbers. That of a log has only the next cursor. */
export function hasPages(document: Json, pagination: Json): boolean {
  return resolve(document, pagination)?.properties?.page !== undefined
}

/** Whether the operation is the GET of a resource: of one that can be changed, or of an id. */
export function readsResource({ document, path, url, operation, method }: Declared): boolean {
  return (
    method === 'get' &&
    jsonOf(document, operation) !== undefined &&
    (path.put !== undefined || path.delete !== undefined || url.endsWith('}'))
  )
}

/** Whether a write returns what the GET of a resource returns. */
function returnsResource({ document, method, operation }: Declared): boolean {
  const returned = componentOf(jsonOf(document, operation) ?? {})
  if (method === 'get' || returned === undefined) return false
  let read = readComponents.get(document)
  if (read === undefined) readComponents.set(document, (read = componentsRead(document)))
  return read.has(returned)
}

/** The components that GET operations of resources return, by document. */
const readComponents = new WeakMap<Json, Set<string>>()

function componentsRead(document: Json): Set<string> {
  const read = declaredOperations(document).filter(readsResource)
  return new Set(read.flatMap(({ operation }) => componentOf(jsonOf(document, operation) ?? {}) ?? []))
}

/** The schema of the 200 as JSON; it may be a reference. */
function jsonOf(document: Json, operation: Json): Json {
  return resolve(document, operation.responses['200'])?.content?.['application/json']?.schema
}

/** A response of an operation. `headers` are references by field name, `key` identifies them. */
interface Use {
  responses: Json
  status: string
  headers: Record<string, Json>
  key: string
}

/** Changes `document`. The response's own headers take precedence. */
export function addImpliedHeaders(document: Json): void {
  const uses = declaredOperations(document).flatMap((declared) => usesOf(document, declared))
  for (const [ref, own] of Map.groupBy(uses, ({ responses, status }) => responses[status].$ref)) {
    if (ref === undefined) for (const use of own) use.responses[use.status] = withHeaders(document, use)
    else addToComponent(document, own)
  }
}

function usesOf(document: Json, declared: Declared): Use[] {
  const implied = Object.entries<Record<string, string>>(document['x-implied-headers'] ?? {})
  const { responses } = declared.operation
  return Object.keys(responses).map((status) => {
    const names = implied
      .filter(([when]) => headerConditions[when](declared, status))
      .flatMap(([, headers]) => Object.entries(headers))
    const headers = Object.fromEntries(
      names.map(([field, name]) => [field, { $ref: `#/components/headers/${name}` }]),
    )
    return { responses, status, headers, key: Object.keys(headers).join() }
  })
}

/**
 * The component gets the headers of the use that has most; each use with fewer becomes a copy. So a new
 * operation seldom changes the component.
 */
function addToComponent(document: Json, uses: Use[]): void {
  const most = uses.reduce((a, b) => (Object.keys(b.headers).length > Object.keys(a.headers).length ? b : a))
  for (const use of uses) if (use.key !== most.key) use.responses[use.status] = withHeaders(document, use)
  const component = resolve(document, most.responses[most.status])
  Object.assign(component, withHeaders(document, most))
}

function withHeaders(document: Json, { responses, status, headers }: Use): Json {
  const { description, headers: own, ...rest } = resolve(document, responses[status])
  const all = { ...headers, ...own }
  return { description, ...(Object.keys(all).length > 0 && { headers: all }), ...rest }
}
