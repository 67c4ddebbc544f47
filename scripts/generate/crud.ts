// Expands x-crud, before everything else reads the spec: a path item with it and a schema become the five
// operations of a resource in a project, or in another such resource, with their schemas and events.
// docs/spec-extensions.md describes it.
import { BaseResolver, type Document, type Source } from '@redocly/openapi-core'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { GenerateError } from './error.ts'
import { escaped } from '@platform-api/openapi/json-pointer.ts'
import { resolve as resolved } from '@platform-api/openapi/resolve.ts'
import { originOf, type Origin } from './origins.ts'
import { referencesIn, type SpecProblem } from './references.ts'
import { requestSchema } from './request-schemas.ts'
import { banner } from './types.ts'

type Json = any

interface Declared {
  /** The component of the resource, in the same file: the fields that this project's users see. */
  schema: string
  /** The schema of the resource that it is in, with x-crud in the same file. Without one: the project. */
  parent?: string
  /** The prefix of ids. */
  prefix: string
  tag: string
  scopes: { read: string; write: string }
  roles: { read: string; write: string }
  /** Sort keys besides `created_at` and `updated_at`. */
  sort?: string[]
  /** Fields that a list can be filtered by. */
  filters?: string[]
  /** Other query parameters of the list. The condition of each is a file of prisma/sql. */
  parameters?: Json[]
}

/** Reads the files of the spec and expands x-crud in them. */
export class SpecResolver extends BaseResolver {
  /** What is wrong with the x-crud of the files read so far. */
  problems: SpecProblem[] = []
  #origins = new Map<string, Origin[]>()

  override parseDocument(source: Source, isRoot = false): Document {
    const document = super.parseDocument(source, isRoot)
    const parsed = document.parsed as Json
    if (typeof parsed !== 'object' || parsed === null) return document
    for (const problem of crudProblems(parsed)) this.problems.push({ source, ...problem })
    const origins = [...expandResources(parsed), ...expandPaths(parsed, source.absoluteRef)]
    this.#origins.set(source.absoluteRef, origins)
    return document
  }

  /** What the part at the pointer was derived from; the same pointer for a part that the file itself has. */
  originOf(file: string, pointer: string): string {
    return originOf(this.#origins.get(file) ?? [], pointer)
  }
}

const isComplete = (crud: Declared | undefined): crud is Declared =>
  typeof crud?.schema === 'string' &&
  typeof crud.scopes === 'object' &&
  typeof crud.roles === 'object' &&
  [crud.sort, crud.filters, crud.parameters].every((list) => list === undefined || Array.isArray(list))

const words = (name: string): string => name.replace(/(?<=.)([A-Z])/g, ' $1').toLowerCase()
const snake = (name: string): string => words(name).replaceAll(' ', '_')
const capital = (name: string): string => name[0].toUpperCase() + name.slice(1)
const idParameter = (schema: string): string => `${snake(schema)}_id`
const outerOf = ({ parent }: Declared): string => (parent === undefined ? 'project' : words(parent))
const itemOf = (name: string): string => `${name}Item`
const common = (kind: string, name: string): Json => ({ $ref: `common.yaml#/components/${kind}/${name}` })

/** The names of schemas in x-crud that do not exist, or have no such property. */
function crudProblems(file: Json): Array<Omit<SpecProblem, 'source'>> {
  const all = Object.entries<Json>(file.paths ?? {}).flatMap(([name, item]): Array<[string, Declared]> =>
    isComplete(item?.['x-crud']) ? [[crudAt(name), item['x-crud']]] : [],
  )
  return all.flatMap(([at, { schema, parent, sort = [], filters = [], parameters = [] }]) => {
    const properties = file.components?.schemas?.[schema]?.properties
    if (properties === undefined)
      return [
        { pointer: `${at}/schema`, message: `there is no schema \`${schema}\` with properties in this file` },
      ]
    const unknown = (list: string, names: string[], known: object) =>
      names.flatMap((name, i) =>
        Object.hasOwn(known, name)
          ? []
          : [{ pointer: `${at}/${list}/${i}`, message: `\`${name}\` is not a property of \`${schema}\`` }],
      )
    // A cursor after a null would lose rows, and other types have no order.
    const unsorted = sort.flatMap((name, i) => {
      const type = properties[name]?.type
      const isOrdered = type === undefined || ['string', 'integer', 'number', 'boolean'].includes(type)
      const message = `a list cannot be sorted by \`${name}\`: it can be null, or has no order`
      return isOrdered ? [] : [{ pointer: `${at}/sort/${i}`, message }]
    })
    const unequal = filters.flatMap((name, i) => {
      const type = [typeIn(file, properties[name])].flat()
      const message = `a list cannot be filtered by the ${type[0]} \`${name}\`: write one of \`parameters\``
      const isValue = !type.includes('array') && !type.includes('object')
      return isValue ? [] : [{ pointer: `${at}/filters/${i}`, message }]
    })
    const unnamed = parameters.flatMap((parameter, i) => {
      const isQuery = /^[a-z]\w*$/.test(parameter?.name) && parameter.in === 'query'
      const message = 'a parameter of a list needs a `name` in snake_case, `in: query` and a `schema`'
      return isQuery ? [] : [{ pointer: `${at}/parameters/${i}`, message }]
    })
    const parentProblem = {
      pointer: `${at}/parent`,
      message: `no x-crud of this file has the schema \`${parent}\``,
    }
    return [
      ...(parent === undefined || all.some(([, other]) => other.schema === parent) ? [] : [parentProblem]),
      ...unknown('sort', sort, { id: true, created_by: true, ...properties }),
      ...unsorted,
      ...unknown('filters', filters, properties),
      ...unequal,
      ...unnamed,
    ]
  })
}

/** The type of a schema that the file itself declares. */
function typeIn(file: Json, schema: Json): unknown {
  const [, component] = /^#\/components\/schemas\/(\w+)$/.exec(schema?.$ref ?? '') ?? []
  const { $ref: _, ...declared } = file.components?.schemas?.[component ?? ''] ?? {}
  if (component !== undefined) return typeIn(file, declared)
  return schema?.type ?? (schema?.discriminator === undefined ? undefined : 'object')
}

const crudAt = (name: string): string => `#/paths/${escaped(name)}/x-crud`
const schemaAt = (name: string): string => `#/components/schemas/${name}`

/** What the parts of each x-crud in the bundled document are derived from. */
export function documentOrigins({ paths, components }: Json): Origin[] {
  const ofResources = Object.entries<Json>(paths ?? {}).flatMap(([url, item]): Origin[] => {
    const crud: Declared | undefined = item?.['x-crud']
    if (!isComplete(crud)) return []
    const itemPath = `${url}/{${idParameter(crud.schema)}}`
    // Implied parameters come first.
    const first = item.get.parameters.findIndex(({ name }: Json) => name === 'sort')
    return operationOrigins(url, crud, { item: {}, itemPath, first })
  })
  const names = declaredResources({ paths }).map(({ schema }) => schema)
  // The loop reads what is pushed here, too.
  for (const name of names)
    for (const { ref } of referencesIn(components?.schemas?.[name], '')) {
      const inside = /^#\/components\/schemas\/(\w+)$/.exec(ref)?.[1]
      if (inside !== undefined && !names.includes(inside)) names.push(inside)
    }
  const copies = names.map((name): Origin => [schemaAt(`${name}Input`), schemaAt(name)])
  return [...schemaOrigins(paths), ...ofResources, ...copies]
}

/** What the schemas of each x-crud in `paths` are derived from. */
export function schemaOrigins(paths: Json): Origin[] {
  return Object.entries<Json>(paths ?? {}).flatMap(([name, item]): Origin[] => {
    const crud: Declared | undefined = item?.['x-crud']
    if (!isComplete(crud)) return []
    const one = schemaAt(crud.schema)
    return [
      [`${one}Id`, `${crudAt(name)}/prefix`],
      [`${one}List`, crudAt(name)],
      [`${one}Create`, one],
      [`${one}Update`, one],
    ]
  })
}

/** What the operations of an x-crud are derived from, except those that the item has itself. */
function operationOrigins(
  name: string,
  crud: Declared,
  { item, itemPath, first = 0 }: { item: Json; itemPath: string; first?: number },
): Origin[] {
  const at = crudAt(name)
  const list = `#/paths/${escaped(name)}`
  const ofList = [`${list}/get`, `${list}/post`, `${list}/parameters`].filter(
    (pointer) => item[pointer.slice(list.length + 1)] === undefined,
  )
  const ofItem = ['get', 'put', 'delete'].map((method) => `#/paths/${escaped(itemPath)}/${method}`)
  const details = [...ofList, ...ofItem].flatMap((own): Origin[] => {
    const access = own.endsWith('/get') ? 'read' : 'write'
    return [
      [own, at],
      [`${own}/tags`, `${at}/tag`],
      [`${own}/security`, `${at}/scopes/${access}`],
      [`${own}/x-project-access`, `${at}/roles/${access}`],
    ]
  })
  const ofGet = item.get === undefined && first !== -1 ? parameterOrigins(name, crud, first) : []
  return [[`#/paths/${escaped(itemPath)}`, at], ...details, ...ofGet]
}

/** @param first the index of the parameter `sort` of the list. */
function parameterOrigins(name: string, crud: Declared, first: number): Origin[] {
  const { schema, filters = [], parameters = [] } = crud
  const at = crudAt(name)
  const parameter = (i: number): string => `#/paths/${escaped(name)}/get/parameters/${first + i}`
  return [
    [parameter(0), `${at}/sort`],
    ...filters.flatMap((field, i): Origin[] => [
      [parameter(i + 1), `${at}/filters/${i}`],
      [`${parameter(i + 1)}/schema`, `${schemaAt(schema)}/properties/${escaped(field)}`],
    ]),
    ...parameters.map((_, i): Origin => [parameter(filters.length + i + 1), `${at}/parameters/${i}`]),
  ]
}

/** Adds to the root document the path of an item, and the events, of each path that leads to an x-crud. */
function expandPaths(root: Json, file: string): Origin[] {
  const origins: Origin[] = []
  const paths: Json = {}
  for (const [path, item] of Object.entries<Json>(root.paths ?? {})) {
    paths[path] = item
    const [target, name] = /^([^#]+)#\/paths\/(\w+)$/.exec(item?.$ref ?? '')?.slice(1) ?? []
    const crud = target === undefined ? undefined : crudIn(resolve(dirname(file), target), name)
    if (!isComplete(crud)) continue
    const { schema, scopes } = crud
    const itemPath = `${path}/{${idParameter(schema)}}`
    paths[itemPath] = { $ref: `${target}#/paths/${itemOf(name)}` }
    origins.push([`#/paths/${escaped(itemPath)}`, `#/paths/${escaped(path)}`])
    root['x-events'] ??= {}
    for (const verb of ['created', 'updated', 'deleted']) {
      const type = `${snake(schema)}.${verb}`
      if (root['x-events'][type] !== undefined) continue
      origins.push([`#/x-events/${type}`, `#/paths/${escaped(path)}`])
      root['x-events'][type] = {
        project: 'project_id',
        scope: scopes.read,
        object: { $ref: `${target}#/components/schemas/${schema}` },
        description: `A ${words(schema)} was ${verb}.`,
      }
    }
  }
  if (root.paths !== undefined) root.paths = paths
  return origins
}

function crudIn(file: string, name: string): Declared | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text.includes('x-crud:') ? parse(text)?.paths?.[name]?.['x-crud'] : undefined
}

function expandResources(file: Json): Origin[] {
  const origins = schemaOrigins(file.paths)
  const declared = new Set(Object.keys(file.components?.schemas ?? {}))
  for (const [name, item] of Object.entries<Json>(file.paths ?? {})) {
    const crud: Declared | undefined = item?.['x-crud']
    const schema = file.components?.schemas?.[crud?.schema ?? '']
    // The lint reports what is wrong with the extension.
    if (!isComplete(crud) || schema?.properties === undefined) continue
    const itemPath = itemOf(name)
    origins.push(...operationOrigins(name, crud, { item, itemPath }), ...defaultOrigins(crud.schema, schema))
    file.paths[name] = { ...listAndCreate(name, crud, schema), ...item }
    file.paths[itemPath] = { ...getUpdateDelete(crud), ...file.paths[itemPath] }
    Object.assign(file.components.schemas, schemasOf(name, crud, schema, file.components.schemas))
  }
  for (const name of Object.keys(file.components?.schemas ?? {}))
    if (!declared.has(name) && name.endsWith('Input'))
      origins.push([schemaAt(name), schemaAt(name.slice(0, -'Input'.length))])
  return origins
}

/** An answer has the default as an example. */
function defaultOrigins(name: string, { properties }: Json): Origin[] {
  return Object.entries<Json>(properties).flatMap(([key, property]): Origin[] => {
    const at = `${schemaAt(name)}/properties/${escaped(key)}`
    const isMoved = property?.default !== undefined && property.examples === undefined
    return isMoved ? [[`${at}/examples`, `${at}/default`]] : []
  })
}

function operation(
  crud: Declared,
  id: string,
  access: 'read' | 'write',
  summary: string,
  text: string,
): Json {
  const role = crud.roles[access]
  return {
    operationId: id,
    tags: [crud.tag],
    summary,
    description: `${text} Requires the role \`${role}\`.`,
    security: [{ apiKey: [crud.scopes[access]] }],
    'x-project-access': { role, ...(access === 'write' && { states: ['active'] }) },
  }
}

const json = (name: string): Json => ({
  'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
})

function listAndCreate(name: string, crud: Declared, schema: Json): Json {
  const { schema: one, sort = [], filters = [], parameters = [] } = crud
  const sorts = ['created_at', 'updated_at', ...sort]
  const filter = (field: string): Json => ({
    name: field,
    in: 'query',
    description: `Returns only ${words(name)} with this \`${field}\`.`,
    schema: withoutNull(withoutDefault(schema.properties[field])),
  })
  return {
    parameters: outerParameters(crud),
    get: {
      ...operation(
        crud,
        `list${capital(name)}`,
        'read',
        `List ${words(name)}`,
        `Returns the ${words(name)} of a ${outerOf(crud)}.`,
      ),
      parameters: [
        {
          name: 'sort',
          in: 'query',
          description: 'The field to sort by.',
          schema: { type: 'string', enum: sorts, default: 'created_at' },
        },
        ...filters.map(filter),
        ...parameters,
      ],
      responses: { '200': { description: `A page of ${words(name)}.`, content: json(`${one}List`) } },
    },
    post: {
      ...operation(
        crud,
        `create${one}`,
        'write',
        `Create a ${words(one)}`,
        `Adds a ${words(one)} to a ${outerOf(crud)}.`,
      ),
      requestBody: { required: true, content: json(`${one}Create`) },
      responses: { '201': { description: `The new ${words(one)}.`, content: json(one) } },
    },
  }
}

function pathParameter(schema: string): Json {
  return {
    name: idParameter(schema),
    in: 'path',
    required: true,
    description: `The ID of the ${words(schema)}.`,
    schema: { $ref: `#/components/schemas/${schema}Id` },
  }
}

function outerParameters({ parent }: Declared): Json[] {
  const project = { $ref: 'projects.yaml#/components/parameters/ProjectId' }
  return parent === undefined ? [project] : [project, pathParameter(parent)]
}

function getUpdateDelete(crud: Declared): Json {
  const one = crud.schema
  const what = words(one)
  const conflict = { '409': common('responses', 'Conflict') }
  return {
    parameters: [...outerParameters(crud), pathParameter(one)],
    get: {
      ...operation(crud, `get${one}`, 'read', `Get a ${what}`, `Returns a ${what} of a ${outerOf(crud)}.`),
      responses: { '200': { description: `The ${what}.`, content: json(one) } },
    },
    put: {
      ...operation(
        crud,
        `update${one}`,
        'write',
        `Update a ${what}`,
        'Updates only the fields that you send.',
      ),
      requestBody: { required: true, content: json(`${one}Update`) },
      responses: { '200': { description: `The updated ${what}.`, content: json(one) }, ...conflict },
    },
    delete: {
      ...operation(crud, `delete${one}`, 'write', `Delete a ${what}`, `Deletes a ${what}.`),
      responses: { '204': { description: `The ${what} was deleted.` }, ...conflict },
    },
  }
}

/** The schemas of the resource: its id, itself, its creation and update, and its list. */
function schemasOf(name: string, crud: Declared, schema: Json, components: Record<string, Json>): Json {
  const { schema: one, parent, prefix } = crud
  const idName = `${one}Id`
  const own = Object.entries<Json>(schema.properties)
  const writable = own
    .filter(([, property]) => property.readOnly !== true)
    .map(([key, property]): [string, Json] => [key, requestSchema(property, components)])
  const answered = Object.fromEntries(own.map(([key, property]) => [key, withoutDefault(property)]))
  const properties = {
    id: { $ref: `#/components/schemas/${idName}` },
    project_id: common('schemas', 'ProjectId'),
    ...(parent !== undefined && {
      [idParameter(parent)]: { $ref: `#/components/schemas/${parent}Id` },
    }),
    ...answered,
    created_by: {
      ...common('schemas', 'UserId'),
      description: `The user who created the ${words(one)}.`,
    },
    created_at: {
      ...common('schemas', 'Timestamp'),
      description: `When the ${words(one)} was created.`,
    },
    updated_at: {
      ...common('schemas', 'Timestamp'),
      description: `When the ${words(one)} was last updated.`,
    },
  }
  return {
    [idName]: {
      type: 'string',
      pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
      description: `The ID of a ${words(one)}. It starts with \`${prefix}_\`.`,
      examples: [`${prefix}_01jd6y8m5qe8btc4y5w1r0n3fz`],
    },
    [one]: { ...schema, type: 'object', required: Object.keys(properties), properties },
    [`${one}Create`]: {
      type: 'object',
      description: `A new ${words(one)}.`,
      additionalProperties: false,
      ...(schema.required && { required: schema.required }),
      properties: Object.fromEntries(writable),
    },
    [`${one}Update`]: {
      type: 'object',
      description: `The fields of the ${words(one)} to change.`,
      additionalProperties: false,
      properties: Object.fromEntries(writable.map(([key, property]) => [key, inUpdate(property)])),
    },
    [`${one}List`]: {
      type: 'object',
      description: `A page of ${words(name)}.`,
      required: ['data', 'pagination'],
      properties: {
        data: {
          type: 'array',
          description: `The ${words(name)} of this page.`,
          items: { $ref: `#/components/schemas/${one}` },
        },
        pagination: common('schemas', 'Pagination'),
      },
    },
  }
}

function withoutDefault(property: Json): Json {
  const { default: value, readOnly: _, ...rest } = property ?? {}
  const hasExample = value === undefined || rest.examples !== undefined || rest.enum !== undefined
  return hasExample ? rest : { ...rest, examples: [value] }
}

/** No value of a query parameter means null. */
function withoutNull(schema: Json): Json {
  if (!Array.isArray(schema.type)) return schema
  const types = schema.type.filter((type: string) => type !== 'null')
  const values = schema.enum?.filter((value: unknown) => value !== null)
  return { ...schema, type: types.length === 1 ? types[0] : types, ...(values && { enum: values }) }
}

/** An update has no defaults, and merges `metadata`. */
function inUpdate(property: Json): Json {
  return isMetadata(property) ? common('schemas', 'MetadataUpdate') : withoutDefault(property)
}

const isMetadata = ({ $ref }: Json): boolean => $ref?.endsWith('/schemas/Metadata') === true

/** A resource with x-crud, for the emitters. */
export interface CrudResource extends Declared {
  /** The path of its list in the contract, with the names of parameters in braces. */
  path: string
  /** The name of its list, such as `notes`. */
  name: string
  properties: Record<string, Json>
  /** The name of its table. */
  table: string
  /** The values of fields that a creation leaves out and that have no default. */
  absent: Record<string, unknown>
}

/** The operations that the default handlers answer, by what they do. */
export function operationIds({
  schema,
  name,
}: Pick<CrudResource, 'schema' | 'name'>): Record<string, string> {
  return {
    list: `list${capital(name)}`,
    get: `get${schema}`,
    create: `create${schema}`,
    update: `update${schema}`,
    remove: `delete${schema}`,
  }
}

/** The resources in the bundled document, with the path of the list of each. */
export function declaredResources(
  document: Json,
): Array<Declared & Pick<CrudResource, 'path' | 'name' | 'table'>> {
  return Object.entries<Json>(document.paths ?? {}).flatMap(([path, item]) => {
    const crud: Declared | undefined = item['x-crud']
    if (!isComplete(crud) || item.get === undefined) return []
    const list = item.get.operationId.replace(/^list/, '')
    const name = list[0].toLowerCase() + list.slice(1)
    return [{ ...crud, path, name, table: snake(name) }]
  })
}

/** Removes x-crud from the bundled document. @throws GenerateError. */
export function takeResources(document: Json): CrudResource[] {
  const declared = declaredResources(document)
  for (const item of Object.values<Json>(document.paths)) delete item['x-crud']
  return declared.map((crud) => {
    const url = crud.path
    const expected = crud.parent === undefined ? '/projects/{id}' : `/{${idParameter(crud.parent)}}`
    if (!url.split('/').slice(0, -1).join('/').endsWith(expected))
      throw new GenerateError(
        `x-crud of ${url}: the path of a list in a ${outerOf(crud)} ends with ${expected}/ and its name.`,
      )
    const { properties } = document.components.schemas[crud.schema]
    const creation = document.components.schemas[`${crud.schema}Create`]
    const optional = Object.keys(creation.properties).filter(
      (key) => !creation.required?.includes(key) && creation.properties[key].default === undefined,
    )
    const absent = Object.fromEntries(
      optional.map((key) => {
        if (isMetadata(creation.properties[key])) return [key, {}]
        if (isNullable(document, properties[key])) return [key, null]
        throw new GenerateError(
          `${crud.schema}.${key}: a creation may leave it out, so it needs a default or the type 'null'.`,
        )
      }),
    )
    return { ...crud, properties, absent }
  })
}

function isNullable(document: Json, schema: Json): boolean {
  const target = resolved(document, schema)
  return (
    [target.type].flat().includes('null') ||
    (target.anyOf ?? target.oneOf ?? []).some((one: Json) => isNullable(document, one))
  )
}

/** The statements of the resources, for the generator of generated/sql, by file name. */
export function resourceStatements(document: Json, resources: CrudResource[]): Map<string, string> {
  return new Map(resources.flatMap((resource) => statementsOf(document, resource)))
}

function statementsOf(document: Json, resource: CrudResource): Array<[string, string]> {
  const { schema, parent, name, table, properties, sort = [], filters = [], parameters = [] } = resource
  const what = words(schema)
  const column = (key: string): string => properties[key]['x-column'] ?? key
  const keys = Object.keys(properties).filter((key) => properties[key]['x-computed'] === undefined)
  // Prisma's list columns have no NOT NULL. Every creation gives them a value.
  const mark = (key: string): string => {
    const schema = resolved(document, properties[key])
    return schema.type === 'array' ? '!' : ''
  }
  const selected = (row: string): string =>
    keys
      .map((key) =>
        column(key) === key && mark(key) === ''
          ? `${row}${key}`
          : `${row}${column(key)} AS "${key}${mark(key)}"`,
      )
      .join(', ')
  const given = (key: string): string => `:${key}${isNullable(document, properties[key]) ? '?' : ''}`
  const typed = keys.filter((key) => {
    const { type, enum: values } = resolved(document, properties[key])
    const isScalar = [type].flat().every((one) => one !== undefined && one !== 'object' && one !== 'array')
    return values !== undefined || !isScalar
  })
  const types = typed.map((key) => `-- @type ${key} Schemas['${schema}']['${key}']\n`).join('')
  const outer = parent === undefined ? [] : [idParameter(parent)]
  const fixed = new Set(['id', 'project_id', ...outer, 'created_by', 'created_at', 'updated_at'])
  const inside = ['project_id', ...outer].map((key) => `t.${column(key)} = :${key}`).join(' AND ')
  const own = keys.filter((key) => !fixed.has(key))
  const found = `SELECT ${selected('t.')}\nFROM ${table} t\nWHERE t.id = :id AND ${inside}\n`
  const filterable = ['created_at', 'updated_at', 'metadata'].filter((key) => keys.includes(key))
  const inserted = keys.map((key) => (key === 'updated_at' ? ':created_at' : given(key)))
  const statements = {
    list:
      `-- The ${words(name)} of a ${outerOf(resource)}.\n-- @page\n${types}` +
      `SELECT ${selected('t.')}\nFROM ${table} t\nWHERE ${inside}\n` +
      `-- @common ${filterable.map((key) => `t.${column(key)}`).join(' ')}\n` +
      filters.map((key) => `-- @filter ${key}\nt.${column(key)} = :${key}\n`).join('') +
      parameters.map((one) => `-- @filter ${one.name} searches\n{${conditionOf(one)}}\n`).join('') +
      ['created_at', 'updated_at', ...sort].map((key) => `-- @sort ${key}\nt.${column(key)}\n`).join('') +
      '-- @id\nt.id\n',
    find: `-- A ${what} of a ${outerOf(resource)}.\n-- @optional\n${types}${found}`,
    lock:
      `-- A ${what} of a ${outerOf(resource)}, locked against other writers.\n-- @optional\n` +
      `${types}${found}FOR NO KEY UPDATE\n`,
    insert:
      `-- Inserts a ${what}.\n-- @one\n${types}INSERT INTO ${table} (${keys.map(column).join(', ')})\n` +
      `VALUES (${inserted.join(', ')})\nRETURNING ${selected('')}\n`,
    update:
      `-- Updates a locked ${what}.\n-- @one\n${types}UPDATE ${table} SET ` +
      `${[...own.map((key) => `${column(key)} = ${given(key)}`), 'updated_at = :updated_at'].join(', ')}\n` +
      `WHERE id = :id\nRETURNING ${selected('')}\n`,
    remove: `-- Deletes a ${what}.\n-- @none\nDELETE FROM ${table} WHERE id = :id\n`,
  }
  return Object.entries(statements).map(([file, text]) => [`resources/${table}/${file}.sql`, text])
}

/** The name of the file in prisma/sql with the condition of a parameter of a list. */
export function conditionOf({ name }: Json): string {
  return `filter-${name.replaceAll('_', '-')}`
}

/** generated/resources.ts: what services/resources.ts knows of each resource. */
export function emitResources(resources: CrudResource[]): string {
  const types = resources.map(({ schema, parent, name }) => {
    const ids = { ...(parent && { parent }), ...operationIds({ schema, name }) }
    const fields = Object.entries(ids).map(([key, id]) => `    ${key}: '${id}'`)
    return `  ${schema}: {\n${fields.join('\n')}\n  }\n`
  })
  const rows = resources.map(({ schema, parent, name, prefix, path, properties, absent }) => {
    const row = { name: words(schema), event: snake(schema), prefix, path, list: capital(name) }
    const outer = parent === undefined ? null : { name: words(parent), parameter: idParameter(parent) }
    const renamed = Object.entries(properties).filter(([, property]) => property['x-column'] !== undefined)
    const fields = Object.fromEntries(renamed.map(([key, property]) => [property['x-column'], key]))
    const all = { ...row, parameter: idParameter(schema), outer, fields, absent }
    return `  ${schema}: ${JSON.stringify(all)},\n`
  })
  return `${banner}
/** The operations of the resources with x-crud, and the resource that each is in, by schema. */
export interface Resources {
${types.join('')}}

export interface ResourceInfo {
  /** For people. */
  name: string
  /** The first part of its event types. */
  event: string
  /** Of its ids. */
  prefix: string
  /** The path of its list in the contract, with the names of parameters in braces. */
  path: string
  /** The name of its list in operation ids. */
  list: string
  /** The path parameter with its id. */
  parameter: string
  /** The resource that it is in; null for the project alone. */
  outer: { name: string; parameter: string } | null
  /** The fields by the names of their columns, where these differ. */
  fields: Record<string, string>
  /** The values of fields that a creation leaves out. */
  absent: Record<string, unknown>
}

export const resources: Record<keyof Resources, ResourceInfo> = {
${rows.join('')}}
`
}
