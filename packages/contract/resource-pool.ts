// The resources that the run knows. Every response adds to them.
// The run changes only resources that it created.
import { patternOf } from '@platform-api/openapi/path-template.ts'
import {
  idIn,
  isJson,
  kindOf,
  ownId,
  pathNames,
  responseFor,
  schemaOf,
  successOf,
  type Json,
  type Operation,
} from '@platform-api/openapi/document.ts'
import type { Answer } from './sender.ts'

export interface KnownResource {
  kind: string
  id: string
  /**
   * The ids of the resources that contain it, by kind, from the path of the response. Other parameters of
   * that path are there by their name in braces: `{region}`.
   */
  parents: Record<string, string>
  /** Whether the run created it. */
  created: boolean
  deleted: boolean
}

export interface ResourcePool {
  document: Json
  operations: Operation[]
  all: KnownResource[]
  /** Adds the resources in the response. */
  record(answer: Answer): void
  /** Ids for references: the run's own resources or, if it cannot create that kind, any known ones. */
  ids(kind: string): string[]
  /** Newest first, without deleted ones. */
  list(kind: string, own?: boolean): KnownResource[]
  /** Ids without a typed prefix, by the singular of their collection: `model` for `/ai/models`. */
  named(name: string): string[]
  /** Path parameters from URLs in responses, such as download links. */
  linkedPaths(operation: Operation): Array<Record<string, string>>
}

export function createResourcePool(document: Json, operations: Operation[]): ResourcePool {
  const found = new Map<string, KnownResource>()
  const names = new Map<string, Set<string>>()
  const addresses = new Map<string, Array<Record<string, string>>>()
  const creators = new Set(
    operations
      .filter((operation) => operation.method === 'POST')
      .map((operation) => successOf(operation)?.media.schema)
      .map((schema) => ownId(document, schema)?.kind),
  )
  const kinds = new Map(operations.map((operation) => [operation.id, idKinds(operation)]))
  const templates = operations
    .filter(({ method, path }) => method === 'GET' && path.includes('{'))
    .map((operation) => ({
      operation,
      names: pathNames(operation.path),
      pattern: patternOf(operation.path),
    }))

  const note = (kind: string, id: string, parents: Record<string, string>, created: boolean): void => {
    const known = found.get(`${kind} ${id}`)
    if (known === undefined) found.set(`${kind} ${id}`, { kind, id, parents, created, deleted: false })
    else if (Object.keys(known.parents).length < Object.keys(parents).length) known.parents = parents
  }

  const walk = (schema: Json, value: Json, answer: Answer, top: boolean): void => {
    const full = schemaOf(document, schema)
    if (typeof value === 'string' || typeof value === 'number') {
      const kind = kindOf(full)
      if (kind !== null)
        note(kind, String(value), {}, answer.operation.method === 'POST' && !creators.has(kind))
      else if (typeof value === 'string') address(value)
    } else if (Array.isArray(value)) {
      for (const item of value) walk(full.items ?? {}, item, answer, false)
    } else if (typeof value === 'object' && value !== null) {
      const own = ownId(document, full)?.kind ?? null
      const id = idIn(document, full, value)
      // Items without typed ids are known by the name of their collection.
      if (own === null && typeof value.id === 'string' && answer.operation.path.endsWith('s')) {
        const name = answer.operation.path.split('/').at(-1)!.slice(0, -1)
        names.set(name, (names.get(name) ?? new Set()).add(value.id))
      }
      if (own !== null && id !== null)
        note(own, id, parentsOf(answer, own), top && answer.operation.method === 'POST')
      for (const [name, item] of Object.entries(value))
        if (full.properties?.[name] !== undefined) walk(full.properties[name], item, answer, false)
    }
  }

  const parentsOf = ({ operation, parts }: Answer, kind: string): Record<string, string> =>
    Object.fromEntries(
      pathNames(operation.path)
        .map((name) => [kinds.get(operation.id)![name] ?? `{${name}}`, parts.path[name]])
        .filter(([each]) => each !== kind),
    )

  const address = (text: string): void => {
    if (!/^(https?:\/)?\//.test(text)) return
    if (!URL.canParse(text, 'http://server')) return
    const path = new URL(text, 'http://server').pathname
    for (const { operation, names, pattern } of templates) {
      const match = pattern.exec(path)
      if (match === null) continue
      const list = addresses.get(operation.id) ?? []
      list.push(Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(match[i + 1])])))
      addresses.set(operation.id, list)
    }
  }

  return {
    document,
    operations,
    get all() {
      return [...found.values()]
    },
    record(answer) {
      if (answer.status >= 300) return
      if (answer.method === 'DELETE')
        for (const [name, kind] of Object.entries(kinds.get(answer.operation.id)!).slice(-1)) {
          const known = found.get(`${kind} ${answer.parts.path[name]}`)
          if (known !== undefined && answer.operation.path.endsWith(`{${name}}`)) known.deleted = true
        }
      if (answer.body === undefined) return
      const media = responseFor(answer.operation, answer.status)?.media.find(({ type }) => isJson(type))
      if (media !== undefined) walk(media.schema, answer.body, answer, true)
    },
    list: (kind, own = false) =>
      [...found.values()]
        .filter((each) => each.kind === kind && !each.deleted && (!own || each.created))
        .reverse(),
    ids(kind) {
      return this.list(kind, creators.has(kind))
        .slice(0, 6)
        .map(({ id }) => id)
    },
    named: (name) => [...(names.get(name) ?? [])].slice(0, 3),
    linkedPaths: (operation) => (addresses.get(operation.id) ?? []).slice(-5).reverse(),
  }
}

/** The kind of id of each path parameter, by the parameter's name. */
export function idKinds({ path, parameters }: Operation): Record<string, string> {
  return Object.fromEntries(
    pathNames(path).flatMap((name) => {
      const kind = kindOf(parameters.find((each) => each.in === 'path' && each.name === name)?.schema)
      return kind === null ? [] : [[name, kind]]
    }),
  )
}

/** The path parameters of a known resource; null if its parents are unknown. */
export function itemPath(operation: Operation, known: KnownResource): Record<string, string> | null {
  const kinds = idKinds(operation)
  const entries = pathNames(operation.path).map((name) => [
    name,
    kinds[name] === known.kind ? known.id : known.parents[kinds[name] ?? `{${name}}`],
  ])
  return entries.some(([, id]) => id === undefined) ? null : Object.fromEntries(entries)
}
