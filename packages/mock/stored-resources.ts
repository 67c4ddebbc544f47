// The resources that clients of the mock created: what was posted can be read, listed, changed and deleted.
// For an unknown id the mock returns the example of the contract, until the client deletes it.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import {
  idIn,
  isJson,
  listOf,
  ownId,
  pathNames,
  responseFor,
  schemaOf,
  type Media,
  type Operation,
  type Parameter,
} from '@platform-api/openapi/document.ts'
import { isTotal } from '@platform-api/contract/plain-lists.ts'
import { idKinds } from '@platform-api/contract/resource-pool.ts'
import { isPaged, listItemKind } from '@platform-api/contract/resources.ts'
import { idKey, ownIdKey } from '@platform-api/openapi/resource-ids.ts'
import { pagingOf } from '@platform-api/openapi/paging.ts'
import { valuesOf } from '@platform-api/contract/values.ts'
import { mediaFor } from '@platform-api/openapi/media-types.ts'
import { flatSchemas } from '@platform-api/openapi/intersections.ts'
import { isValid, type MockAnswer, type Source } from './answers.ts'

type Json = any

interface Stored {
  /** The ids of the resources that contain it, by kind. */
  parents: Record<string, string>
  body: Json
}

export interface StoredRequest {
  operation: Operation
  /** The path of the request. */
  url: string
  path: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  /** A body that is neither JSON nor a form. */
  file?: { type: string; bytes: Buffer }
}

export interface StoredResources {
  /** Whether the operation is about a resource that was deleted. */
  isGone(request: StoredRequest): boolean
  /** Does what the operation says, and returns the answer with the stored resource in it. */
  apply(request: StoredRequest, answer: MockAnswer): MockAnswer
}

export function createStoredResources(source: Source, operations: Operation[]): StoredResources {
  const { document, validation, seed } = source
  const stored = new Map<string, Map<string, Stored>>()
  const deleted = new Set<string>()
  const creatable = new Set(
    operations.filter((operation) => operation.method === 'POST').map((operation) => createdKind(operation)),
  )
  /** The bodies of single resources, by their path. */
  const singles = new Map<string, unknown>()
  const isSingle = ({ path, method }: Operation): boolean =>
    ['GET', 'PUT', 'PATCH'].includes(method) &&
    operations.some((each) => each.path === path && each.method === 'GET') &&
    operations.some((each) => each.path === path && ['PUT', 'PATCH'].includes(each.method))
  /** What was put at a path as bytes; null if it was deleted. */
  const files = new Map<string, StoredRequest['file'] | null>()
  const isFile = ({ path }: Operation): boolean =>
    !path.endsWith('}') &&
    operations.some(
      (each) =>
        each.path === path &&
        each.method === 'GET' &&
        responseFor(each, 200)?.media.every(({ type }) => !isJson(type)) === true,
    ) &&
    operations.some((each) => each.path === path && each.method === 'PUT')
  let created = 0

  /** The kind of the resource that the path is of, and its id. */
  const target = ({ operation, path }: StoredRequest): { kind: string; id: string } | null => {
    const name = pathNames(operation.path).at(-1)
    if (name === undefined || !operation.path.endsWith(`{${name}}`)) return null
    const kind = idKinds(operation)[name]
    return kind === undefined ? null : { kind, id: path[name] }
  }

  const parentsOf = ({ operation, path }: StoredRequest, own: string | null): Record<string, string> =>
    Object.fromEntries(
      Object.entries(idKinds(operation))
        .filter(([, kind]) => kind !== own)
        .map(([name, kind]) => [kind, path[name]]),
    )

  /** The kind that the POST creates: its answer has an id of its own, and its path has none of that kind. */
  function createdKind(operation: Operation): string | null {
    if (operation.method !== 'POST') return null
    for (const [status, { media }] of operation.responses) {
      const schema = status < 300 ? media.find(({ type }) => isJson(type))?.schema : undefined
      const kind = schema === undefined ? null : (ownId(document, schema)?.kind ?? null)
      if (kind !== null && !Object.values(idKinds(operation)).includes(kind)) return kind
    }
    return null
  }

  /** The schemas of the path parameters with ids of the kind: an answer often says less of its own id. */
  const parametersOf = (kind: string): Json[] =>
    operations
      .flatMap((operation) => {
        const kinds = idKinds(operation)
        return operation.parameters.filter(({ in: where, name }) => where === 'path' && kinds[name] === kind)
      })
      .map(({ schema }) => schema)
  const idSchemas = new Map<string, Json>()

  function idSchemaOf(kind: string, own: Json): Json {
    if (!idSchemas.has(kind)) {
      const { type } = own
      const [flat = own] = flatSchemas(document, {
        allOf: [own, ...parametersOf(kind).map(({ type: _, ...rest }) => rest)],
      })
      const isNumeric = parametersOf(kind).some((each) => [each.type].flat().includes('integer'))
      idSchemas.set(kind, { ...flat, type, isNumeric, [idKey]: undefined })
    }
    return idSchemas.get(kind)
  }

  function newId(schema: Json): Json {
    created++
    const { type, format, pattern, minimum = 1, minLength = 0, maxLength = 24, isNumeric } = schema
    const hash = createHash('sha256').update(`${seed} ${created}`).digest('hex')
    const number = Math.max(1, minimum) + created - 1
    if ([type].flat().includes('integer')) return number
    if (isNumeric) return String(number)
    if (format === 'uuid') return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
    const texts =
      pattern === undefined && minLength <= 24
        ? null
        : valuesOf(
            document,
            { ...schema, minLength: Math.max(1, minLength) },
            { ids: () => [], named: () => [] },
          )
    if (texts !== null) return fc.sample(texts, { numRuns: 1, seed: seed + created })[0]
    return hash.slice(0, Math.min(maxLength, 24))
  }

  /** An id that no stored resource has, if the schema has enough ids. */
  function freeId(kind: string, schema: Json): Json {
    for (let attempt = 0; ; attempt++) {
      const id = newId(idSchemaOf(kind, schema))
      if (attempt === 100 || (isPathSegment(id) && !stored.get(kind)?.has(String(id)))) return id
    }
  }

  /** The values of the properties that a creation may leave out. */
  function defaultsOf({ body }: Operation): Json {
    const properties = Object.entries<Json>(body?.media[0]?.schema.properties ?? {})
    return Object.fromEntries(
      properties
        .map(([name, property]) => [name, schemaOf(document, property).default])
        .filter(([, value]) => value !== undefined),
    )
  }

  /** The value with the sent properties that the schema has and that keep it valid. */
  function withSent(media: Media, value: Json, sent: Json, keep: string): Json {
    const names = Object.keys(media.schema.properties ?? {}).filter(
      (name) => name !== keep && Object.hasOwn(sent, name),
    )
    const whole = { ...value, ...Object.fromEntries(names.map((name) => [name, sent[name]])) }
    if (isValid(validation, media, whole)) return whole
    let result = value
    for (const name of names) {
      const next = { ...result, [name]: sent[name] }
      if (isValid(validation, media, next)) result = next
    }
    return result
  }

  const jsonMedia = (operation: Operation, status: number): Media | undefined =>
    responseFor(operation, status)?.media.find(({ type }) => isJson(type))

  function create(request: StoredRequest, kind: string, answer: MockAnswer): MockAnswer {
    const { operation } = request
    const media = jsonMedia(operation, answer.status)
    const own = media === undefined ? null : ownId(document, media.schema)
    if (media === undefined || own?.kind !== kind || typeof answer.body !== 'object') return answer
    const {
      [idKey]: _kind,
      [ownIdKey]: _own,
      ...schema
    } = schemaOf(document, media.schema.properties[own.name])
    const parents = parentsOf(request, kind)
    const sentId = isObject(request.body) ? request.body[own.name] : undefined
    const isFree =
      isPathSegment(sentId) &&
      !stored.get(kind)?.has(String(sentId)) &&
      parametersOf(kind).every((each) => validation.parameter(each)(sentId).length === 0)
    let body = { ...answer.body, [own.name]: isFree ? sentId : freeId(kind, schema) }
    deleted.delete(`${kind} ${String(body[own.name])}`)
    // A reference to the resource that the path names.
    for (const [name, property] of Object.entries<Json>(media.schema.properties)) {
      const parent = parents[schemaOf(document, property)[idKey]]
      if (parent === undefined || name === own.name) continue
      const next = { ...body, [name]: typeof body[name] === 'number' ? Number(parent) : parent }
      if (isValid(validation, media, next)) body = next
    }
    if (isObject(request.body))
      body = withSent(media, body, { ...defaultsOf(operation), ...request.body }, own.name)
    const id = String(body[own.name])
    stored.set(kind, (stored.get(kind) ?? new Map()).set(id, { parents, body }))
    const read = operations.find(
      (each) =>
        each.method === 'GET' && Object.values(idKinds(each)).at(-1) === kind && each.path.endsWith('}'),
    )
    const location = Object.keys(answer.headers).find((name) => name.toLowerCase() === 'location')
    const headers =
      location === undefined || read === undefined
        ? answer.headers
        : { ...answer.headers, [location]: pathOf(read, { ...parents, [kind]: id }) }
    return { ...answer, headers, body }
  }

  const pathOf = (operation: Operation, ids: Record<string, string>): string =>
    Object.entries(idKinds(operation)).reduce(
      (path, [name, kind]) => path.replace(`{${name}}`, encodeURIComponent(ids[kind] ?? '')),
      operation.path,
    )

  function list({ operation, path, query }: StoredRequest, kind: string, answer: MockAnswer): MockAnswer {
    const media = jsonMedia(operation, answer.status)
    const property = isPaged(operation) ? 'data' : listOf(document, operation)?.property
    if (media === undefined || property === undefined) return answer
    const item = schemaOf(
      document,
      property === null
        ? schemaOf(document, media.schema).items
        : schemaOf(document, media.schema.properties[property]).items,
    )
    const all = [...(stored.get(kind)?.values() ?? [])]
      .filter((each) =>
        Object.entries(idKinds(operation)).every(
          ([name, of]) => (each.parents[of] ?? path[name]) === path[name],
        ),
      )
      .map(({ body }) => body)
    const isValidList = (items: Json[]): boolean =>
      isValid(validation, media, pageOf(operation, {}, answer.body, property, items))
    const [example] = property === null ? answer.body : (answer.body?.[property] ?? [])
    // The list may show other properties or values than the resource.
    const shown = isValidList(all)
      ? all
      : all.map((body) => {
          let result = example
          for (const name of Object.keys(item.properties ?? {}).filter((each) => Object.hasOwn(body, each))) {
            const next = { ...result, [name]: body[name] }
            if (isValidList([next])) result = next
          }
          return result
        })
    const found = shown.filter((each) => matchesQuery(item, each, query))
    const body = pageOf(operation, query, answer.body, property, found)
    return isValid(validation, media, body) ? { ...answer, body } : answer
  }

  /** The example of a list whose items nothing creates, with the values that the query asks for. */
  function exampleList({ operation, query }: StoredRequest, answer: MockAnswer): MockAnswer {
    const media = jsonMedia(operation, answer.status)
    const found = listOf(document, operation)
    if (media === undefined || found === null) return answer
    const listed: Json = found.property === null ? answer.body : answer.body?.[found.property]
    if (!Array.isArray(listed)) return answer
    const ids = listed.map((item) => idIn(document, found.item, item))
    const items = listed.filter((_, i) => ids[i] === null || ids.indexOf(ids[i]) === i)
    const asked = (item: Json): Array<[string, Json]> =>
      Object.entries(query).flatMap(([name, value]): Array<[string, Json]> => {
        const filtered = isObject(item) ? filteredBy(item, name) : null
        if (filtered === null) return []
        const typed = typeof item[filtered] === 'number' ? Number(value) : value
        return [[filtered, Array.isArray(item[filtered]) ? [value] : typed]]
      })
    const filled = items.map((item) =>
      isObject(item) ? { ...item, ...Object.fromEntries(asked(item)) } : item,
    )
    for (const candidate of [filled, items]) {
      const matching = candidate.filter((item) => matchesQuery(found.item, item, query))
      const body = pageOf(operation, query, answer.body, found.property, matching)
      if ((matching.length > 0 || candidate === items) && isValid(validation, media, body))
        return { ...answer, body }
    }
    return answer
  }

  /** The answer for a path outside of collections, such as the caller's own profile. */
  function single({ operation, url, body: sent }: StoredRequest, answer: MockAnswer): MockAnswer {
    const media = jsonMedia(operation, answer.status)
    const before = singles.get(url)
    if (isPlain(sent) || isPlain(before)) {
      if (isPlain(sent)) singles.set(url, sent)
      const value = sent ?? before
      return media !== undefined && isPlain(answer.body) && isValid(validation, media, value)
        ? { ...answer, body: value }
        : answer
    }
    const changes = ['PUT', 'PATCH'].includes(operation.method) && isObject(sent)
    const known = isObject(before) ? before : undefined
    if (media === undefined || !isObject(answer.body)) {
      if (changes) singles.set(url, { ...known, ...sent })
      return answer
    }
    let body = known === undefined ? answer.body : withSent(media, answer.body, known, '')
    if (changes) {
      body = withSent(media, body, sent, '')
      singles.set(url, { ...known, ...body })
    }
    return { ...answer, body }
  }

  /** The answer of a path at which bytes are put, read and deleted. */
  function file({ operation, url, file: sent }: StoredRequest, answer: MockAnswer): MockAnswer {
    if (operation.method === 'PUT' && sent !== undefined) files.set(url, sent)
    if (operation.method === 'DELETE') files.set(url, null)
    const known = files.get(url)
    const media = responseFor(operation, answer.status)?.media ?? []
    const isShown = operation.method === 'GET' && known && mediaFor(media, known.type) !== undefined
    return isShown ? { ...answer, contentType: known.type, body: known.bytes } : answer
  }

  return {
    isGone(request) {
      const found = target(request)
      if (request.operation.method !== 'PUT' && files.get(request.url) === null) return true
      return found !== null && deleted.has(`${found.kind} ${found.id}`)
    },
    apply(request, answer) {
      const { operation } = request
      if (isFile(operation)) return file(request, answer)
      const made = createdKind(operation)
      if (made !== null) return create(request, made, answer)
      const listed = operation.method === 'GET' ? listItemKind(document, operation) : null
      const found = target(request)
      if (listed !== null && found?.kind !== listed && creatable.has(listed))
        return list(request, listed, answer)
      if (found === null) {
        const whole = isSingle(operation) ? single(request, answer) : answer
        return operation.method === 'GET' ? exampleList(request, whole) : whole
      }
      if (operation.method === 'DELETE') {
        stored.get(found.kind)?.delete(found.id)
        deleted.add(`${found.kind} ${found.id}`)
      }
      const media = jsonMedia(operation, answer.status)
      const own = media === undefined ? null : ownId(document, media.schema)
      const known = stored.get(found.kind)?.get(found.id)
      const changes = ['PUT', 'PATCH'].includes(operation.method) && isObject(request.body)
      if (media === undefined || own?.kind !== found.kind || !isObject(answer.body)) {
        if (known !== undefined && changes) known.body = { ...known.body, ...(request.body as object) }
        return known === undefined && isSingle(operation) ? single(request, answer) : answer
      }
      const id = typeof answer.body[own.name] === 'number' ? Number(found.id) : found.id
      let body = withSent(media, answer.body, known?.body ?? { [own.name]: id }, '')
      if (changes) body = withSent(media, body, request.body, own.name)
      // The answer may show less than the resource has.
      if (known !== undefined && changes) known.body = { ...known.body, ...(request.body as object), ...body }
      else if (changes && idIn(document, media.schema, body) === found.id)
        stored.set(
          found.kind,
          (stored.get(found.kind) ?? new Map()).set(found.id, {
            parents: parentsOf(request, found.kind),
            body,
          }),
        )
      return { ...answer, body }
    },
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a URL can have the value as a segment of its path. */
function isPathSegment(value: unknown): boolean {
  const text = String(value)
  return (
    isPlain(value) && text.isWellFormed() && !/^\.*$/.test(text) && encodeURIComponent(text).length <= 1000
  )
}

/** Whether it is a value without properties, such as a number, which is replaced as a whole. */
const isPlain = (value: unknown): boolean =>
  value !== undefined && value !== null && typeof value !== 'object'

/** The property by which a query parameter selects: that of its name, or a list of the plural. */
function filteredBy(properties: Json, name: string): string | null {
  if (Object.hasOwn(properties, name)) return name
  return Object.hasOwn(properties, `${name}s`) ? `${name}s` : null
}

function matchesQuery({ properties = {} }: Json, body: Json, query: Record<string, unknown>): boolean {
  return Object.entries(query).every(([name, value]) => {
    const filtered = filteredBy(properties, name)
    const own = filtered === null ? undefined : body?.[filtered]
    if (filtered === null || (filtered === name && typeof own === 'object')) return true
    return [own].flat().map(String).includes(String(value))
  })
}

function askedPage(
  operation: Operation,
  query: Record<string, unknown>,
): { page: number; limit: number; offset: number | null } {
  const paging = pagingOf(operation)
  const numberOf = (parameter: Parameter | null): number | null => {
    const value = parameter === null ? undefined : query[parameter.name]
    return value !== undefined && Number.isInteger(Number(value)) ? Number(value) : null
  }
  const { minimum, default: first } = paging.page?.schema ?? {}
  const start = minimum ?? first ?? 1
  return {
    page: Math.max(1, (numberOf(paging.page) ?? start) - start + 1),
    limit: Math.max(1, numberOf(paging.limit) ?? paging.limit?.schema.default ?? 100),
    offset: numberOf(paging.offset),
  }
}

/** The page that the query asks for, of all items. */
function pageOf(
  operation: Operation,
  query: Record<string, unknown>,
  body: Json,
  property: string | null,
  all: Json[],
): Json {
  const { page, limit, offset } = askedPage(operation, query)
  const first = offset ?? (page - 1) * limit
  return withItems(body, property, all.slice(first, first + limit), { page, limit, total: all.length })
}

/** The list with these items, and its counts, where it has them. */
function withItems(
  body: Json,
  property: string | null,
  items: Json[],
  { page, limit, total }: { page: number; limit: number; total: number },
): Json {
  if (property === null) return items
  const counts: Record<string, Json> = {
    count: items.length,
    page,
    limit,
    total_pages: Math.ceil(total / limit),
    has_more: page * limit < total,
    next_cursor: null,
  }
  const counted = (value: Json): Json =>
    Object.fromEntries(
      Object.entries<Json>(value).map(([name, old]) => {
        const count = isTotal(name) ? total : counts[name]
        const isCount = count !== undefined && (typeof old === typeof count || old === null || count === null)
        return [name, isCount ? count : old]
      }),
    )
  const whole = { ...counted(body), [property]: items }
  return isObject(whole.pagination) ? { ...whole, pagination: counted(whole.pagination) } : whole
}
