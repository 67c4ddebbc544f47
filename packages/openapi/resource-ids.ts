// Finds the ids of resources in a contract that does not type them: from the paths, the bodies that their
// operations return, and the names of properties. `/pets/{petId}` reads the resources of the kind `/pets`.
import { methods } from './methods.ts'
import { resolve } from './resolve.ts'
import { groupBy } from './group-by.ts'

type Json = any

/** On the schema of an id: the kind of its resource. */
export const idKey = 'x-id-of'
/** On a property: it is the id of the object that holds it. */
export const ownIdKey = 'x-own-id'

interface Item {
  /** The path of one resource: `/pets/{petId}`. */
  path: string
  collection: string
  parameter: string
  kind: string
}

/** A copy of the document in which the schema of each id names its kind. */
export function withResourceIds(document: Json): Json {
  const copy = structuredClone(document)
  const items = itemsOf(copy)
  // Shorter paths first, so that `/pets/{id}` names the kind and not `/owners/{id}/pets/{id}`.
  for (const item of items) markResource(copy, item)
  const kinds = new Map(items.map(({ path, kind }) => [blank(path), kind]))
  const kindOfName = kindsByName(items)
  for (const [path, pathItem] of Object.entries<Json>(copy.paths))
    markParameters(copy, path, pathItem, { kinds, kindOfName })
  markReferences(copy, copy.components?.schemas ?? {}, kindOfName)
  for (const pathItem of Object.values<Json>(copy.paths))
    for (const method of methods) {
      const body = resolve(copy, pathItem[method]?.requestBody)
      for (const media of Object.values<Json>(body?.content ?? {}))
        markReferences(copy, media.schema, kindOfName)
    }
  return copy
}

const blank = (path: string): string => path.replace(/\{[^}]+\}/g, '{}')

function itemsOf(document: Json): Item[] {
  return Object.keys(document.paths)
    .filter((path) => /\{[^}/]+\}$/.test(path) && document.paths[path].get !== undefined)
    .sort((a, b) => a.split('/').length - b.split('/').length)
    .map((path) => {
      const collection = path.slice(0, path.lastIndexOf('/'))
      return {
        path,
        collection,
        parameter: path.slice(path.lastIndexOf('{') + 1, -1),
        kind: blank(collection),
      }
    })
}

/** Marks the id in the schema that the GET returns, and in those of its collection. Sets `item.kind`. */
function markResource(document: Json, item: Item): void {
  const read = successSchemas(document, document.paths[item.path].get).find(
    (schema) => idNameIn(document, schema, item) !== null,
  )
  if (read === undefined) return
  const name = idNameIn(document, read, item)!
  item.kind = read.properties[name][idKey] ?? item.kind
  markOwnId(read, name, item.kind)
  const collection = document.paths[item.collection] ?? document.paths[`${item.collection}/`]
  const related = [
    ...successSchemas(document, collection?.post),
    ...successSchemas(document, document.paths[item.path].put),
    ...successSchemas(document, document.paths[item.path].patch),
    ...successSchemas(document, collection?.get).map((schema) => itemSchemaOf(document, schema)),
  ]
  for (const schema of related)
    if (schema?.properties?.[name] !== undefined) markOwnId(schema, name, item.kind)
}

function markOwnId(schema: Json, name: string, kind: string): void {
  const property = schema.properties[name]
  if (property[idKey] === undefined)
    schema.properties[name] = { ...property, [idKey]: kind, [ownIdKey]: true }
}

/** The schemas of the objects that the operation returns when it succeeds. */
function successSchemas(document: Json, operation: Json): Json[] {
  return Object.entries<Json>(operation?.responses ?? {})
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, response]) => Object.values<Json>(resolve(document, response)?.content ?? {}))
    .map(({ schema }) => resolve(document, schema))
    .filter((schema) => typeof schema === 'object' && schema !== null)
}

/** The name of the property that has the id of the path: `id`, or the name of the parameter. */
function idNameIn(document: Json, schema: Json, { collection, parameter }: Item): string | null {
  const names = Object.keys(schema?.properties ?? {}).filter((name) => {
    const property = resolve(document, schema.properties[name])
    return [property?.type].flat().some((type) => type === 'string' || type === 'integer')
  })
  const plainNames = new Map(names.map((name) => [plainName(name), name]))
  for (const name of [plainName(parameter), 'id', `${singularOf(collection)}id`])
    if (plainNames.has(name)) return plainNames.get(name)!
  return null
}

const plainName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

function singularOf(collection: string): string {
  const last = collection.split('/').findLast((part) => part !== '' && !part.startsWith('{')) ?? ''
  return plainName(last)
    .replace(/ies$/, 'y')
    .replace(/(ss|sh|ch|x)es$/, '$1')
    .replace(/s$/, '')
}

/** The schema of the items if the schema is a list or an object with one list of objects; else null. */
function itemSchemaOf(document: Json, schema: Json): Json {
  return listIn(document, schema)?.item ?? null
}

/**
 * The list that a response of this schema holds: the schema of its items, and the name of its property; null
 * if the response is the list itself.
 */
export function listIn(document: Json, node: Json): { item: Json; property: string | null } | null {
  const schema = resolve(document, node)
  const itemOf = (list: Json): Json => {
    const resolved = resolve(document, list)
    if (![resolved?.type].flat().includes('array')) return null
    const item = resolve(document, resolved.items)
    return item?.properties === undefined ? null : item
  }
  const own = itemOf(schema)
  if (own !== null) return { item: own, property: null }
  if (schema?.properties?.[Object.keys(schema.properties)[0]] === undefined) return null
  // A resource with an id is no list, even if it has a list.
  if ('id' in schema.properties) return null
  const lists = Object.entries<Json>(schema.properties).filter(([, property]) => itemOf(property) !== null)
  return lists.length === 1 ? { item: itemOf(lists[0][1]), property: lists[0][0] } : null
}

type KindOfName = (name: string) => string | null

/** The kind that a name such as `pet_id` or `petIds` refers to, if only one has that name. */
function kindsByName(items: Item[]): KindOfName {
  const byName = groupBy(items, ({ collection }) => `${singularOf(collection)}id`)
  return (name) => {
    const kinds = new Set(byName.get(plainName(name).replace(/ids$/, 'id'))?.map(({ kind }) => kind))
    return kinds.size === 1 ? [...kinds][0] : null
  }
}

/** Marks the ids in the path and the query. Each parameter gets a schema of its own. */
function markParameters(
  document: Json,
  path: string,
  pathItem: Json,
  { kinds, kindOfName }: { kinds: Map<string, string>; kindOfName: KindOfName },
): void {
  const kindOf = ({ in: where, name }: Json): string | null => {
    if (where === 'query') return kindOfName(name)
    const end = path.indexOf(`{${name}}`)
    if (where !== 'path' || end < 0) return null
    const upTo = path.slice(0, end + name.length + 2)
    const collection = upTo.slice(0, upTo.lastIndexOf('/'))
    return kinds.get(blank(upTo)) ?? (document.paths[collection] === undefined ? null : blank(collection))
  }
  const mark = (list: Json[]): Json[] =>
    list.map((node) => {
      const parameter = resolve(document, node)
      const schema = resolve(document, parameter?.schema) ?? {}
      const kind = isId(schema) ? kindOf(parameter) : null
      return kind === null ? node : { ...parameter, schema: { ...schema, [idKey]: kind } }
    })
  for (const holder of [pathItem, ...methods.map((method) => pathItem[method])])
    if (Array.isArray(holder?.parameters)) holder.parameters = mark(holder.parameters)
}

function isId({ type, enum: values, const: only }: Json): boolean {
  return (
    [type].flat().some((each) => each === 'string' || each === 'integer') &&
    values === undefined &&
    only === undefined
  )
}

function markReferences(document: Json, root: Json, kindOfName: KindOfName): void {
  const visit = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [name, property] of Object.entries<Json>(
      typeof node.properties === 'object' && node.properties !== null ? node.properties : {},
    )) {
      const kind = kindOfName(name)
      if (kind === null || typeof property !== 'object' || property === null) continue
      const mark = (schema: Json): Json => {
        const isMarked = !isId(resolve(document, schema) ?? {}) || schema[idKey] !== undefined
        return isMarked ? schema : { ...schema, [idKey]: kind }
      }
      node.properties[name] =
        property.type === 'array' && typeof property.items === 'object'
          ? { ...property, items: mark(property.items) }
          : mark(property)
    }
    for (const value of Object.values(node)) visit(value)
  }
  visit(root)
}
