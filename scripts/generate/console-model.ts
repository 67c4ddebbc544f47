// The model of the console: lists, details, forms and actions of the contract, which the console shows
// without code of their own. A new operation appears there with the next generation.
import { resolve } from '@platform-api/openapi/resolve.ts'
import type {
  ConsoleDetail,
  ConsoleField,
  ConsoleList,
  ConsoleModel,
  ConsoleOperation,
} from '../../packages/console/model-types.ts'
import { titleOf } from '../../packages/console/titles.ts'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'

type Json = any

/** Parameters that every list has; the console sends them by itself. */
const common = new Set(['page', 'limit', 'cursor', 'order', 'sort', 'metadata', 'created_after'])
for (const name of ['created_before', 'updated_after', 'updated_before', 'include']) common.add(name)
/** The field that names a resource in a table, the best first. */
const leads = ['name', 'title', 'subject', 'email', 'url', 'content', 'type', 'number', 'id']
const maxColumns = 6
const longText = 300

export function consoleModel(
  document: Json,
  operations: Operation[],
  names: Map<string, string>,
): ConsoleModel {
  // The console calls the API with an API key. What this project's client leaves out is for other clients.
  const shown = operations.filter(
    ({ id, scopes, needsSession }) => scopes !== null && !needsSession && names.has(id),
  )
  const details = detailsOf(document, shown)
  const lists = listsOf(document, shown, details)
  for (const detail of details) {
    const inside = lists.filter(({ path }) => parentOf(path) === detail.path)
    const about = lists.filter(({ filters }) => detail.prefix !== null && refersTo(filters, detail.prefix))
    detail.related = [
      ...inside.map(({ path }) => ({ path, filter: null })),
      ...about.map(({ path, filters }) => ({
        path,
        filter: filters.find(({ prefix }) => prefix === detail.prefix)!.name,
      })),
    ]
  }
  return {
    title: document.info.title,
    groups: groupsOf(document, lists, details),
    lists,
    details,
    operations: Object.fromEntries(
      shown.map((operation) => [
        operation.id,
        {
          ...operationOf(document, operation),
          secrets: secretsOf(document, operation, details),
        },
      ]),
    ),
  }
}

/** The types of events about resources with the schema: `order.*`. */
function eventsOf(document: Json, schema: Json): string | null {
  const types = Object.entries<Json>(document['x-events'] ?? {})
  const type = types.find(([, { object }]) => object.$ref !== undefined && object.$ref === schema.$ref)?.[0]
  return type === undefined ? null : `${type.slice(0, type.indexOf('.'))}.*`
}

/** `x-console` of the contract, for lists and actions whose names are not enough. */
interface Hints {
  title?: string
  columns?: string[]
  /** Other words by which the search of the console finds a list. */
  words?: string[]
  /** Of an action: the states of the resource, by field, in which it is possible. */
  when?: ConsoleOperation['when']
}

const hintsOf = (document: Json, { path, method }: Operation): Hints =>
  document.paths[path][method]['x-console'] ?? {}

/** @throws GenerateError if the contract names a field that does not exist. */
function fieldAt(operation: Operation, fields: ConsoleField[], path: string): ConsoleField {
  const [name, ...inner] = path.split('.')
  const field = fields.find((each) => each.name === name)
  if (field === undefined)
    throw new GenerateError(`x-console of ${operation.id}: the resource has no field \`${path}\`.`)
  return inner.length === 0 ? field : fieldAt(operation, field.fields ?? [], inner.join('.'))
}

function declaredColumns(operation: Operation, { columns }: Hints, fields: ConsoleField[]): ConsoleField[] {
  return columns!.map((path) => ({
    ...asShown(fieldAt(operation, fields, path)),
    name: path,
    title: titleOf(path.replace('.', ' ')),
  }))
}

/** The prefix in the pattern of an ID. */
const idPrefix = /^\^([a-z]{2,5})_/

const refersTo = (fields: ConsoleField[], prefix: string): boolean =>
  fields.some((field) => field.prefix === prefix)
const idPrefixOf = (fields: ConsoleField[]): string | undefined =>
  fields.find(({ name }) => name === 'id')?.prefix
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))
const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const isParameter = (segment: string): boolean => segment.startsWith('{')
const parametersIn = (path: string): string[] => path.match(/\{\w+\}/g) ?? []

/** `Get an API key` becomes `API key`. */
function itemTitle({ summary, path }: Operation): string {
  const title = /^Get (?:an?|the) (.+)$/.exec(summary)?.[1]
  return title === undefined ? titleOf(lastOf(parentOf(path))) : title[0].toUpperCase() + title.slice(1)
}

function answerOf({ responses }: Operation): Json {
  return responses.find(({ status }) => status >= 200 && status < 300 && status !== 206)
}

function itemOf(document: Json, operation: Operation): Json | null {
  if (operation.method !== 'get') return null
  const properties = resolve(document, answerOf(operation)?.schema)?.properties ?? {}
  const isPaged = 'pagination' in properties || 'next_cursor' in properties
  const data = resolve(document, properties.data)
  return isPaged && data?.type === 'array' ? data.items : null
}

const isJson = (operation: Operation): boolean => answerOf(operation)?.contentType === 'application/json'

function listsOf(document: Json, operations: Operation[], details: ConsoleDetail[]): ConsoleList[] {
  return operations.flatMap((operation): ConsoleList[] => {
    const items = itemOf(document, operation)
    if (items === null) return []
    const { path, queryParameters } = operation
    const fields = fieldsOf(document, resolve(document, items))
    // Items of several kinds have no fields in common: a page made by hand shows them.
    if (fields.length === 0) return []
    const sort = queryParameters.find(({ name }) => name === 'sort')
    const hints = hintsOf(document, operation)
    return [
      {
        path,
        title: hints.title ?? titleOf(lastOf(path)),
        tag: operation.tag,
        operation: operation.id,
        columns: hints.columns === undefined ? columnsOf(fields) : declaredColumns(operation, hints, fields),
        filters: queryParameters
          .filter(({ name }) => !common.has(name))
          .sort((a, b) => Number(b.name === 'q') - Number(a.name === 'q'))
          .map(({ name, schema, required }) => fieldOf(document, name, schema, required === true))
          .map(({ help: _, ...field }) => field),
        sort: resolve(document, sort?.schema)?.enum ?? [],
        ordered: queryParameters.some(({ name }) => name === 'order'),
        create: creationOf(operations, path, items),
        ...(hints.words !== undefined && { words: hints.words }),
        ...includeOf(document, operation),
        prefix: idPrefixOf(fields) ?? null,
        ...itemOfList(document, operations, details, path, items),
      },
    ]
  })
}

/** The users that the parameter `include` may add. */
function includeOf(document: Json, { queryParameters }: Operation): { include?: string[] } {
  const include = queryParameters.find(({ name }) => name === 'include')
  const values = resolve(document, resolve(document, include?.schema)?.items)?.enum
  return values === undefined ? {} : { include: values }
}

/** The operation that creates an item: POST on the list, or one that answers with the same schema. */
function creationOf(operations: Operation[], path: string, items: Json): string | null {
  const posts = operations.filter(({ method }) => method === 'post')
  const here = posts.find((operation) => operation.path === path)
  if (here !== undefined) return here.id
  const elsewhere = posts.find((operation) => {
    const answer = answerOf(operation)
    const isNew = answer?.status === 201 && answer.schema?.$ref !== undefined
    return isNew && answer.schema.$ref === items.$ref && parametersIn(operation.path).length === 0
  })
  return parametersIn(path).length === 0 ? (elsewhere?.id ?? null) : null
}

/** The path of an item and where its parameters come from, unless the list is inside the same resource. */
function itemOfList(
  document: Json,
  operations: Operation[],
  details: ConsoleDetail[],
  path: string,
  items: Json,
): Pick<ConsoleList, 'item' | 'keys'> {
  const item = itemPathOf(document, operations, details, path, items)
  if (item === null) return { item, keys: {} }
  const known = parametersIn(path)
  const keys = Object.entries(keysOf(item))
  return {
    item,
    keys: Object.fromEntries(
      keys.filter(([name], i) => i === keys.length - 1 || !known.includes(`{${name}}`)),
    ),
  }
}

/** The path of an item: below the list, or where the same schema is found by the fields of the item. */
function itemPathOf(
  document: Json,
  operations: Operation[],
  details: ConsoleDetail[],
  path: string,
  items: Json,
): string | null {
  const below = details.find((detail) => parentOf(detail.path) === path)
  if (below !== undefined) return below.path
  const fields = fieldsOf(document, resolve(document, items)).map(({ name }) => name)
  const same = operations.find(
    (operation) =>
      operation.method === 'get' &&
      isParameter(lastOf(operation.path)) &&
      items.$ref !== undefined &&
      answerOf(operation)?.schema?.$ref === items.$ref &&
      Object.values(keysOf(operation.path)).every((name) => fields.includes(name)),
  )
  return same?.path ?? null
}

/**
 * The fields of an item with the values of its path's parameters. An ID of a resource above is in the field
 * that has its name: `/projects/{id}/notes/{note_id}` has `{ id: 'project_id', note_id: 'id' }`.
 */
function keysOf(path: string): Record<string, string> {
  const segments = path.split('/')
  const keys = segments.flatMap((segment, i) =>
    isParameter(segment) ? [[segment.slice(1, -1), `${segments[i - 1].replace(/s$/, '')}_id`]] : [],
  )
  return { ...Object.fromEntries(keys), [keys.at(-1)![0]]: 'id' }
}

function detailsOf(document: Json, operations: Operation[]): ConsoleDetail[] {
  return operations.flatMap((operation): ConsoleDetail[] => {
    const { path, method, id } = operation
    const isItem = isParameter(lastOf(path))
    const isOther = parametersIn(path).length > 0 && !isItem
    if (method !== 'get' || !isJson(operation) || isOther || itemOf(document, operation) !== null) return []
    const at = (verb: string): string | null =>
      operations.find((other) => other.path === path && other.method === verb)?.id ?? null
    const schema = resolve(document, answerOf(operation).schema)
    const fields = fieldsOf(document, schema)
    const actions = operations
      .filter(
        (other) =>
          other.method === 'post' && parentOf(other.path) === path && !isParameter(lastOf(other.path)),
      )
      .filter(
        (other) => isJson(other) && !operations.some((o) => o.path === other.path && o.method === 'get'),
      )
    for (const action of actions)
      for (const name of Object.keys(hintsOf(document, action).when ?? {})) fieldAt(action, fields, name)
    return [
      {
        path,
        title:
          hintsOf(document, operation).title ??
          (isItem ? itemTitle(operation) : titleOf(path.slice(1).replaceAll('/', ' '))),
        tag: operation.tag,
        operation: id,
        ...includeOf(document, operation),
        prefix: parametersIn(path).length === 1 ? (idPrefixOf(fields) ?? null) : null,
        fields: fields.map(asShown),
        events: eventsOf(document, answerOf(operation).schema),
        update: at('put'),
        remove: at('delete'),
        ...verbOf(operations.find((other) => other.path === path && other.method === 'delete')),
        actions: actions.map((other) => ({ title: actionTitle(document, other), operation: other.id })),
        downloads: operations
          .filter((other) => other.method === 'get' && parentOf(other.path) === path)
          .filter((other) => answerOf(other)?.binary)
          .map((other) => ({ title: actionTitle(document, other), operation: other.id })),
        related: [],
      },
    ]
  })
}

function verbOf(removal: Operation | undefined): { removes?: string } {
  const verb = removal?.summary.split(' ')[0] ?? 'Delete'
  return verb === 'Delete' ? {} : { removes: verb }
}

interface TagGroup {
  name: string
  tags: string[]
  'x-console'?: Pick<ConsoleModel['groups'][number], 'icon' | 'place'>
}

/**
 * The areas of the navigation: lists and details whose paths have no parameters, by groups of tags, in the
 * order of the tags. Tags without a group are in an area with the title of the document.
 */
function groupsOf(document: Json, lists: ConsoleList[], details: ConsoleDetail[]): ConsoleModel['groups'] {
  const pages = [...lists, ...details].filter(({ path }) => parametersIn(path).length === 0)
  const declared: TagGroup[] = document['x-tagGroups'] ?? []
  const grouped = declared.flatMap(({ tags }) => tags)
  const others = [...new Set(pages.map(({ tag }) => tag))].filter((tag) => !grouped.includes(tag))
  return [...declared, { name: document.info.title, tags: others } as TagGroup]
    .map(({ name, tags, 'x-console': hints = {} }) => ({
      title: name,
      ...hints,
      pages: tags.flatMap((tag) => pages.filter((page) => page.tag === tag).map(({ path }) => path)),
    }))
    .filter((group) => group.pages.length > 0)
}

/** The fields of a secret answer that the resource does not have when it is read later. */
function secretsOf(document: Json, operation: Operation, details: ConsoleDetail[]): string[] {
  if (!operation.secretAnswer) return []
  const fields = fieldsOf(document, resolve(document, answerOf(operation).schema))
  const known = details
    .filter((detail) => idPrefixOf(detail.fields) === idPrefixOf(fields))
    .flatMap((detail) => detail.fields.map(({ name }) => name))
  return fields.map(({ name }) => name).filter((name) => !known.includes(name))
}

function operationOf(document: Json, operation: Operation): Omit<ConsoleOperation, 'secrets'> {
  const { method, summary, body } = operation
  const schema = body?.schema ?? body?.fields ?? null
  const fields = schema === null ? [] : fieldsOf(document, resolve(document, schema))
  // Where a body may also be JSON, the file is one of its alternatives.
  const file = body?.form == null ? [] : [fileField(body.form.file, body.schema === null)]
  return {
    method: method.toUpperCase(),
    summary,
    fields: body === null ? null : [...file, ...fields],
    query:
      method === 'get'
        ? []
        : operation.queryParameters.map(({ name, schema, required }) =>
            fieldOf(document, name, schema, required === true),
          ),
    /** The body as JSON, for a schema that is no object with fields. */
    choice: schema !== null && fields.length === 0 && isChoice(resolve(document, schema)),
    when: hintsOf(document, operation).when ?? null,
    sells: document.paths[operation.path][operation.method]['x-organization-sellers'] === true,
  }
}

const actionTitle = (document: Json, operation: Operation): string =>
  hintsOf(document, operation).title ?? titleOf(lastOf(operation.path))

const isChoice = (schema: Json): boolean => schema.oneOf !== undefined || schema.anyOf !== undefined
const fileField = (name: string, required: boolean): ConsoleField => ({
  name,
  title: titleOf(name),
  kind: 'file',
  required,
  nullable: false,
})

/** @param within the properties of the schemas around: a schema that contains itself is shown as JSON. */
function fieldsOf(document: Json, schema: Json, within: Json[] = []): ConsoleField[] {
  const parts: Json[] = [schema, ...(schema.allOf ?? []).map((part: Json) => resolve(document, part))]
  const required = new Set(parts.flatMap((part) => part.required ?? []))
  return parts.flatMap((part) =>
    Object.entries<Json>(part.properties ?? {})
      .filter(([, property]) => property['x-user-of'] === undefined)
      .map(([name, property]) =>
        fieldOf(document, name, property, required.has(name), [...within, part.properties]),
      ),
  )
}

function fieldOf(
  document: Json,
  name: string,
  declared: Json,
  required: boolean,
  within: Json[] = [],
): ConsoleField {
  const outer = resolve(document, declared)
  const alternatives: Json[] = (outer.anyOf ?? outer.oneOf ?? []).map((each: Json) => resolve(document, each))
  const [only, ...others] = alternatives.filter(({ type }) => type !== 'null')
  const schema: Json =
    only !== undefined && others.length === 0 ? { ...only, ...outer, anyOf: undefined } : outer
  const types: string[] = [schema.type ?? only?.type ?? []].flat()
  const nullable = types.includes('null') || alternatives.some(({ type }) => type === 'null')
  const items = resolve(document, schema.items)
  const prefix = idPrefix.exec(schema.pattern ?? only?.pattern ?? '')?.[1]
  const field: ConsoleField = { name, title: titleOf(name), kind: 'json', required, nullable }
  if (declared.description ?? schema.description) field.help = declared.description ?? schema.description
  if (schema.enum !== undefined)
    return { ...field, kind: 'choice', values: schema.enum.filter((v: Json) => v !== null) }
  if (schema.const !== undefined) return { ...field, kind: 'choice', values: [schema.const] }
  if (others.length > 0) return field
  if (types.includes('array')) {
    if (items?.enum !== undefined) return { ...field, kind: 'choices', values: items.enum }
    if (items?.properties !== undefined && items.oneOf === undefined && !within.includes(items.properties))
      return { ...field, kind: 'objects', fields: fieldsOf(document, items, within) }
    if (![items?.type].flat().includes('string')) return field
    const ofItems = idPrefix.exec(items.pattern ?? '')?.[1]
    return { ...field, kind: 'texts', ...(ofItems !== undefined && { prefix: ofItems }) }
  }
  if (types.includes('object'))
    return schema.properties === undefined || within.includes(schema.properties)
      ? { ...field, kind: 'json' }
      : { ...field, kind: 'object', fields: fieldsOf(document, schema, within) }
  if (types.includes('boolean')) return { ...field, kind: 'boolean' }
  if (types.includes('integer') || types.includes('number')) return { ...field, kind: numberKind(name) }
  if (!types.includes('string')) return field
  if (prefix !== undefined) {
    const takesAll = schema.pattern?.endsWith('|^\\*$') === true
    return { ...field, kind: 'id', prefix, ...(takesAll && { values: ['*'] }) }
  }
  if (schema.format === 'date-time') return { ...field, kind: 'time' }
  if (schema.format === 'uri') return { ...field, kind: 'url' }
  return { ...field, kind: (schema.maxLength ?? 0) > longText ? 'long' : 'text' }
}

function numberKind(name: string): 'bytes' | 'money' | 'number' {
  if (/(^|_)bytes$/.test(name)) return 'bytes'
  return /(^|_)amount$/.test(name) ? 'money' : 'number'
}

function columnsOf(fields: ConsoleField[]): ConsoleField[] {
  const flat = fields.filter(
    ({ kind }) => !['json', 'object', 'objects', 'texts', 'choices', 'file'].includes(kind),
  )
  const lead = leads
    .map((name) => flat.find((field) => field.name === name))
    .find((field) => field !== undefined)
  const weight = ({ name, kind }: ConsoleField): number => {
    if (name === 'created_at') return 9
    const order = ['choice', 'money', 'bytes', 'number', 'boolean', 'text', 'url', 'id', 'time', 'long']
    return name === 'id' || name === 'project_id' ? 8 : order.indexOf(kind)
  }
  const rest = flat
    .filter((field) => field !== lead && !['id', 'updated_at', 'currency'].includes(field.name))
    .map((field, i) => ({ field, i }))
    .sort((a, b) => weight(a.field) - weight(b.field) || a.i - b.i)
    .map(({ field }) => field)
  const created = rest.find(({ name }) => name === 'created_at')
  const others = rest.filter((field) => field !== created)
  const columns = [lead, ...others.slice(0, maxColumns - 2), created].filter((field) => field !== undefined)
  return columns.map(asShown)
}

/** A field where its value is shown: help and the possible values are for forms. */
function asShown({ help: _, values: __, fields, ...field }: ConsoleField): ConsoleField {
  return fields === undefined ? field : { ...field, fields: fields.map(asShown) }
}
