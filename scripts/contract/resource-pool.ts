// The resources that the run knows: learned from every answer, made when one is wanted, and only changed where the run itself has made them.
import { patternOf } from '../../infra/validation/path-template.ts'
import { type Json, type Operation, kindOf, pathNames, schemaOf, successOf } from './document.ts'
import type { Answer } from './sender.ts'

export interface Known {
  kind: string
  id: string
  /** The ids, by kind, of what it is in, as the path said under which it was seen. */
  under: Record<string, string>
  /** Whether the run made it. */
  own: boolean
  gone: boolean
}

export interface World {
  document: Json
  operations: Operation[]
  all: Known[]
  /** Learns from an answer what there is. */
  learn(answer: Answer): void
  /** What may be named: of what the run has made, or, where it makes none of that kind, what it has seen. */
  ids(kind: string): string[]
  /** What was made or seen last first; those that are gone are left out. */
  known(kind: string, own?: boolean): Known[]
  /** The ids of what has no typed ones, by the name that it has in a body: of `/ai/models`, `model`. */
  named(name: string): string[]
  /** The values of a path that were seen as an address in an answer, such as a link to download. */
  addressed(operation: Operation): Array<Record<string, string>>
}

export function createWorld(document: Json, operations: Operation[]): World {
  const found = new Map<string, Known>()
  const names = new Map<string, Set<string>>()
  const addresses = new Map<string, Array<Record<string, string>>>()
  const makers = new Set(
    operations
      .filter((operation) => operation.method === 'POST')
      .map((operation) => successOf(operation)?.media.schema)
      .map((schema) => kindOf(schemaOf(document, schema?.properties?.id))),
  )
  const kinds = new Map(operations.map((operation) => [operation.id, kindsOf(operation)]))
  const templates = operations
    .filter(({ method, path }) => method === 'GET' && path.includes('{'))
    .map((operation) => ({
      operation,
      names: pathNames(operation.path),
      pattern: patternOf(operation.path),
    }))

  const note = (kind: string, id: string, under: Record<string, string>, own: boolean): void => {
    const known = found.get(id)
    if (known === undefined) found.set(id, { kind, id, under, own, gone: false })
    else if (Object.keys(known.under).length < Object.keys(under).length) known.under = under
  }

  const walk = (schema: Json, value: Json, answer: Answer, top: boolean): void => {
    const full = schemaOf(document, schema)
    if (typeof value === 'string') {
      const kind = kindOf(full)
      if (kind !== null) note(kind, value, {}, answer.operation.method === 'POST' && !makers.has(kind))
      else address(value)
    } else if (Array.isArray(value)) {
      for (const item of value) walk(full.items ?? {}, item, answer, false)
    } else if (typeof value === 'object' && value !== null) {
      const own = kindOf(schemaOf(document, full.properties?.id))
      // What is listed is as much in the path as what was asked for by its id.
      if (own === null && typeof value.id === 'string' && answer.operation.path.endsWith('s')) {
        const name = answer.operation.path.split('/').at(-1)!.slice(0, -1)
        names.set(name, (names.get(name) ?? new Set()).add(value.id))
      }
      if (own !== null && typeof value.id === 'string')
        note(own, value.id, underOf(answer, own), top && answer.operation.method === 'POST')
      for (const [name, item] of Object.entries(value))
        if (full.properties?.[name] !== undefined) walk(full.properties[name], item, answer, false)
    }
  }

  const underOf = ({ operation, parts }: Answer, kind: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries(kinds.get(operation.id)!)
        .filter(([, each]) => each !== kind)
        .map(([name, each]) => [each, parts.path[name]]),
    )

  const address = (text: string): void => {
    if (!/^(https?:\/)?\//.test(text)) return
    const path = URL.parse(text, 'http://server')?.pathname ?? ''
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
    learn(answer) {
      if (answer.status >= 300) return
      if (answer.method === 'DELETE')
        for (const id of Object.values(answer.parts.path).slice(-1))
          if (found.has(id)) found.get(id)!.gone = true
      if (answer.body === undefined) return
      const media = answer.operation.responses
        .get(answer.status)
        ?.media.find(({ type }) => type === 'application/json')
      if (media !== undefined) walk(media.schema, answer.body, answer, true)
    },
    known: (kind, own = false) =>
      [...found.values()].filter((each) => each.kind === kind && !each.gone && (!own || each.own)).reverse(),
    ids(kind) {
      return this.known(kind, makers.has(kind))
        .slice(0, 6)
        .map(({ id }) => id)
    },
    named: (name) => [...(names.get(name) ?? [])].slice(0, 3),
    addressed: (operation) => (addresses.get(operation.id) ?? []).slice(-5).reverse(),
  }
}

/** By the name of a path's parameter, the kind of id that it takes. */
export function kindsOf({ path, parameters }: Operation): Record<string, string> {
  return Object.fromEntries(
    pathNames(path).flatMap((name) => {
      const kind = kindOf(parameters.find((each) => each.in === 'path' && each.name === name)?.schema)
      return kind === null ? [] : [[name, kind]]
    }),
  )
}

/** The path to a known resource; null where it is not known what it is in. */
export function itemPath(operation: Operation, known: Known): Record<string, string> | null {
  const entries = Object.entries(kindsOf(operation)).map(([name, kind]) => [
    name,
    kind === known.kind ? known.id : known.under[kind],
  ])
  return entries.some(([, id]) => id === undefined) ? null : Object.fromEntries(entries)
}
