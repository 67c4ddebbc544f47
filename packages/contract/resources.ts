// Groups the operations by resource, from their paths and the typed ids in their responses.
import {
  listOf,
  ownId,
  schemaOf,
  successOf,
  type Json,
  type Operation,
} from '@platform-api/openapi/document.ts'
import type { Run } from './run-context.ts'
import { idKinds } from './resource-pool.ts'

export interface Resource {
  kind: string
  read: Operation
  update: Operation | null
  remove: Operation | null
  lists: Operation[]
}

/** One resource for every kind of id that an operation reads. */
export function resourcesOf({ operations: all, document, options }: Run): Resource[] {
  const operations = all.filter(({ path }) => !options.profile.isApart(path))
  const reads = operations.filter(
    (operation) =>
      operation.method === 'GET' &&
      operation.path.endsWith('}') &&
      itemKind(document, operation) !== null &&
      Object.values(idKinds(operation)).at(-1) === itemKind(document, operation),
  )
  return reads.map((read) => {
    const kind = itemKind(document, read)!
    const same = (...methods: string[]): Operation | null =>
      operations.find(({ path, method }) => path === read.path && methods.includes(method)) ?? null
    return {
      kind,
      read,
      update: same('PUT', 'PATCH'),
      remove: same('DELETE'),
      lists: operations.filter((operation) => listItemKind(document, operation) === kind),
    }
  })
}

function itemKind(document: Json, operation: Operation): string | null {
  return ownId(document, successOf(operation)?.media.schema)?.kind ?? null
}

/** The kind of id of the items in a list; null if the operation is not a list. */
export function listItemKind(document: Json, operation: Operation): string | null {
  if (!isPaged(operation) && listOf(document, operation) === null) return null
  return ownId(document, itemSchema(document, operation))?.kind ?? null
}

/** Whether the list has `data` and `pagination`. A log, which has no parameter `page`, is none. */
export function isPaged(operation: Operation): boolean {
  const properties = operation.method === 'GET' ? successOf(operation)?.media.schema.properties : undefined
  if (properties?.data === undefined || properties.pagination === undefined) return false
  const names = operation.parameters.map(({ name }) => name)
  return names.includes('page') || !names.includes('cursor')
}

export function itemSchema(document: Json, operation: Operation): Json {
  if (!isPaged(operation)) return listOf(document, operation)!.item
  const data = schemaOf(document, successOf(operation)!.media.schema.properties.data)
  return schemaOf(document, data.items)
}
