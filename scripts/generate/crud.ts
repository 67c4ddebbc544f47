// Expands x-crud, before everything else reads the spec: a path item with it and a schema become the
// operations of a resource, with their schemas and events. The resource is in a project, an organization or
// another such resource, or in none. docs/spec-extensions.md describes it.
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
  /**
   * What it is in: `organization`, `platform` for a resource that belongs to nobody, or the schema of a
   * resource with x-crud in the same file. Without one: the project.
   */
  parent?: string
  /** The prefix of ids. */
  prefix: string
  tag: string
  scopes: { read: string; write: string }
  /** Roles in the project or organization. */
  roles?: { read: string; write: string }
  /** The operations that it does not have. */
  without?: Verb[]
  /** The path parameter with its id. */
  parameter?: string
  /** Sort keys besides `created_at` and `updated_at`. */
  sort?: string[]
  /** Fields that a list can be filtered by. */
  filters?: string[]
  /** Other query parameters of the list. The condition of each is a file of prisma/sql. */
  parameters?: Json[]
}

const writes = ['create', 'update', 'delete'] as const

type Verb = (typeof writes)[number]

interface Place {
  /** The field with its id, and the schema of that in common.yaml. */
  field: string
  id: string
  /** Its path parameter. */
  parameter: string
  /** The extension with the role that an operation needs. */
  access: string
  path: string
}

/** What a resource can be in besides another resource; null for the platform. */
const places: Record<string, Place | null> = {
  project: {
    field: 'project_id',
    id: 'ProjectId',
    parameter: 'projects.yaml#/components/parameters/ProjectId',
    access: 'x-project-access',
    path: '/projects/{id}',
  },
  organization: {
    field: 'organization_id',
    id: 'OrganizationId',
    parameter: 'organizations.yaml#/components/parameters/OrganizationId',
    access: 'x-organization-access',
    path: '/organizations/{id}',
  },
  platform: null,
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
  (typeof crud.roles === 'object' || crud.parent === 'platform') &&
  [crud.sort, crud.filters, crud.parameters, crud.without].every(
    (list) => list === undefined || Array.isArray(list),
  )

const words = (name: string): string => name.replace(/(?<=.)([A-Z])/g, ' $1').toLowerCase()
const snake = (name: string): string => words(name).replaceAll(' ', '_')
const capital = (name: string): string => name[0].toUpperCase() + name.slice(1)
const withArticle = (what: string): string => `${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}`
/** The name of what the resource is in: of a place, or of another resource. */
const outerOf = ({ parent = 'project' }: Declared): string => words(parent)
/** The schema of the resource that it is in; null if it is in a place alone. */
const outerSchema = ({ parent = 'project' }: Declared): string | null =>
  Object.hasOwn(places, parent) ? null : parent
/** The place that the resource, or the one that it is in, is in. */
const placeName = (crud: Declared): string => (outerSchema(crud) === null ? outerOf(crud) : 'project')
const placeOf = (crud: Declared): Place | null => places[placeName(crud)]
const idField = (schema: string): string => `${snake(schema)}_id`
/** The path parameter with the id of the resource. */
const idParameter = (crud: Declared): string =>
  crud.parameter ?? (placeOf(crud) === null ? 'id' : idField(crud.schema))
/** ` of a project`; empty for the platform. */
const ofOuter = (crud: Declared): string =>
  placeOf(crud) === null ? '' : ` of ${withArticle(outerOf(crud))}`
const has = ({ without = [] }: Declared, verb: Verb): boolean => !without.includes(verb)
const itemOf = (name: string): string => `${name}Item`
const common = (kind: string, name: string): Json => ({ $ref: `common.yaml#/components/${kind}/${name}` })

const listed = `one of ${writes.join(', ')}`

/** The names of schemas in x-crud that do not exist, or have no such property. */
function crudProblems(file: Json): Array<Omit<SpecProblem, 'source'>> {
  const all = Object.entries<Json>(file.paths ?? {}).flatMap(([name, item]): Array<[string, Declared]> =>
    isComplete(item?.['x-crud']) ? [[crudAt(name), item['x-crud']]] : [],
  )
  return all.flatMap(([at, crud]) => {
    const { schema, sort = [], filters = [], parameters = [], without = [] } = crud
    const properties = file.components?.schemas?.[schema]?.properties
    if (properties === undefined)
      return [
        { pointer: `${at}/schema`, message: `there is no schema \`${schema}\` with properties in this file` },
      ]
    const unknown = (list: string, names: string[], known: object, what = `a property of \`${schema}\``) =>
      names.flatMap((name, i) =>
        Object.hasOwn(known, name)
          ? []
          : [{ pointer: `${at}/${list}/${i}`, message: `\`${name}\` is not ${what}` }],
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
    const parent = outerSchema(crud)
    const parentProblem = {
      pointer: `${at}/parent`,
      message: `no x-crud of this file has the schema \`${parent}\``,
    }
    return [
      ...(parent === null || all.some(([, other]) => other.schema === parent) ? [] : [parentProblem]),
      ...unknown('without', without, Object.fromEntries(writes.map((verb) => [verb, true])), listed),
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
    const itemPath = `${url}/{${idParameter(crud)}}`
    // Implied parameters come first.
    const first = item.get.parameters.findIndex(({ name }: Json) => name === 'sort')
    return operationOrigins(url, crud, { itemPath, first })
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

/** What the operations of an x-crud are derived from. */
function operationOrigins(
  name: string,
  crud: Declared,
  { itemPath, first = 0 }: { itemPath: string; first?: number },
): Origin[] {
  const at = crudAt(name)
  const list = `#/paths/${escaped(name)}`
  const ofList = [`${list}/get`, `${list}/post`, `${list}/parameters`]
  const ofItem = ['get', 'put', 'delete'].map((method) => `#/paths/${escaped(itemPath)}/${method}`)
  const details = [...ofList, ...ofItem].flatMap((own): Origin[] => {
    const access = own.endsWith('/get') ? 'read' : 'write'
    return [
      [own, at],
      [`${own}/tags`, `${at}/tag`],
      [`${own}/security`, `${at}/scopes/${access}`],
      [`${own}/${placeOf(crud)?.access}`, `${at}/roles/${access}`],
    ]
  })
  const ofGet = first === -1 ? [] : parameterOrigins(name, crud, first)
  return [[`#/paths/${escaped(itemPath)}`, at], ...details, ...ofGet]
}

/** What the file declares itself of a generated part. */
function ownOrigins(declared: Json, pointer: string): Origin[] {
  if (!isObject(declared)) return declared === undefined ? [] : [[pointer, pointer]]
  return Object.entries(declared).flatMap(([key, value]) => ownOrigins(value, `${pointer}/${escaped(key)}`))
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
    const itemPath = `${path}/{${idParameter(crud)}}`
    paths[itemPath] = { $ref: `${target}#/paths/${itemOf(name)}` }
    origins.push([`#/paths/${escaped(itemPath)}`, `#/paths/${escaped(path)}`])
    const declared: Json = root['x-events'] ?? {}
    const place = placeOf(crud)
    const events = writes.flatMap((verb): Array<[string, Json]> => {
      if (!has(crud, verb)) return []
      const type = `${snake(schema)}.${verb}d`
      origins.push([`#/x-events/${type}`, `#/paths/${escaped(path)}`])
      origins.push(...ownOrigins(declared[type], `#/x-events/${type}`))
      const event = {
        ...(place === null ? { audience: 'everyone' } : { [placeName(crud)]: place.field }),
        scope: scopes.read,
        object: { $ref: `${target}#/components/schemas/${schema}` },
        description: `${capital(withArticle(words(schema)))} was ${verb}d.`,
      }
      return [[type, merged(event, declared[type])]]
    })
    const others = Object.entries<Json>(declared).filter(([type]) => !events.some(([own]) => own === type))
    // Beside the events of its own actions.
    const at = Object.keys(declared).findIndex((type) => type.startsWith(`${snake(schema)}.`))
    root['x-events'] = Object.fromEntries(others.toSpliced(at === -1 ? others.length : at, 0, ...events))
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
    const { schemas } = file.components
    const first = item.get?.parameters === undefined ? 0 : -1
    origins.push(...operationOrigins(name, crud, { itemPath, first }))
    origins.push(...defaultOrigins(crud.schema, schema), ...ownOrigins(item, `#/paths/${name}`))
    origins.push(...ownOrigins(file.paths[itemPath], `#/paths/${itemPath}`))
    item['x-crud'] = { ...crud, stored: storedValues(schema) }
    file.paths[name] = merged(listAndCreate(name, crud, schema), item)
    file.paths[itemPath] = merged(getUpdateDelete(crud), file.paths[itemPath])
    for (const [key, generated] of Object.entries(schemasOf(name, crud, schema, schemas))) {
      origins.push(...ownOrigins(schemas[key], schemaAt(key)))
      schemas[key] = merged(generated, schemas[key])
    }
    schemas[crud.schema] = answerSchema(crud, schema)
  }
  for (const name of Object.keys(file.components?.schemas ?? {}))
    if (!declared.has(name) && name.endsWith('Input'))
      origins.push([schemaAt(name), schemaAt(name.slice(0, -'Input'.length))])
  return origins
}

const isObject = (value: Json): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The generated part with what the file declares of it. Lists, and what refers elsewhere, are replaced. */
function merged(generated: Json, declared: Json): Json {
  if (declared === undefined) return generated
  if (!isObject(generated) || !isObject(declared) || declared.$ref !== undefined) return declared
  if (generated.$ref !== undefined && declared.type !== undefined) return declared
  const own = Object.entries(declared).map(([key, value]) => [key, merged(generated[key], value)])
  return { ...generated, ...Object.fromEntries(own) }
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
  const role = crud.roles?.[access]
  const place = placeName(crud)
  return {
    operationId: id,
    tags: [crud.tag],
    summary,
    description: role === undefined ? text : `${text} Requires the role \`${role}\`.`,
    security: [{ apiKey: [crud.scopes[access]] }],
    ...(place === 'project' && {
      'x-project-access': { role, ...(access === 'write' && { states: ['active'] }) },
    }),
    ...(place === 'organization' && { 'x-unlimited-key': true, 'x-organization-access': { role } }),
  }
}

const json = (name: string): Json => ({
  'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
})

function listAndCreate(name: string, crud: Declared, schema: Json): Json {
  const { schema: one, sort = [], filters = [], parameters = [] } = crud
  const [items, item] = [words(name), words(one)]
  const sorts = ['created_at', 'updated_at', ...sort]
  const filter = (field: string): Json => {
    const { description: _, ...value } = withoutDefault(withoutUse(schema.properties[field]))
    const description = `Returns only ${items} with this \`${field}\`.`
    return { name: field, in: 'query', description, schema: withoutNull(value) }
  }
  const list = {
    ...operation(
      crud,
      `list${capital(name)}`,
      'read',
      `List ${items}`,
      `Returns the ${items}${ofOuter(crud)}.`,
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
    responses: { '200': { description: `A page of ${items}.`, content: json(`${one}List`) } },
  }
  const create = {
    ...operation(
      crud,
      `create${one}`,
      'write',
      `Create ${withArticle(item)}`,
      placeOf(crud) === null
        ? `Creates ${withArticle(item)}.`
        : `Adds ${withArticle(item)} to ${withArticle(outerOf(crud))}.`,
    ),
    requestBody: { required: true, content: json(`${one}Create`) },
    responses: { '201': { description: `The new ${item}.`, content: json(one) } },
  }
  const outer = outerParameters(crud)
  return {
    ...(outer.length > 0 && { parameters: outer }),
    get: list,
    ...(has(crud, 'create') && { post: create }),
  }
}

function pathParameter(name: string, schema: string): Json {
  return {
    name,
    in: 'path',
    required: true,
    description: `The ID of the ${words(schema)}.`,
    schema: { $ref: `#/components/schemas/${schema}Id` },
  }
}

function outerParameters(crud: Declared): Json[] {
  const place = placeOf(crud)
  const outer = outerSchema(crud)
  return [
    ...(place === null ? [] : [{ $ref: place.parameter }]),
    ...(outer === null ? [] : [pathParameter(idField(outer), outer)]),
  ]
}

function getUpdateDelete(crud: Declared): Json {
  const one = crud.schema
  const what = words(one)
  const a = withArticle(what)
  // The status of the project, or a unique constraint.
  const conflict = placeOf(crud) !== null && { '409': common('responses', 'Conflict') }
  const get = {
    ...operation(crud, `get${one}`, 'read', `Get ${a}`, `Returns ${a}${ofOuter(crud)}.`),
    responses: { '200': { description: `The ${what}.`, content: json(one) } },
  }
  const update = {
    ...operation(crud, `update${one}`, 'write', `Update ${a}`, 'Updates only the fields that you send.'),
    requestBody: { required: true, content: json(`${one}Update`) },
    responses: { '200': { description: `The updated ${what}.`, content: json(one) }, ...conflict },
  }
  const remove = {
    ...operation(crud, `delete${one}`, 'write', `Delete ${a}`, `Deletes ${a}.`),
    responses: { '204': { description: `The ${what} was deleted.` }, ...conflict },
  }
  return {
    parameters: [...outerParameters(crud), pathParameter(idParameter(crud), one)],
    get,
    ...(has(crud, 'update') && { put: update }),
    ...(has(crud, 'delete') && { delete: remove }),
  }
}

/** The schema of the resource, with the fields that every resource has. */
function answerSchema(crud: Declared, schema: Json): Json {
  const { schema: one } = crud
  const place = placeOf(crud)
  const outer = outerSchema(crud)
  const answered = Object.entries<Json>(schema.properties).map(([key, property]) => [
    key,
    withoutLimits(withoutDefault(withoutUse(property))),
  ])
  const time = (verb: string): Json => ({
    ...common('schemas', 'Timestamp'),
    description: `When the ${words(one)} was ${verb}.`,
  })
  const properties = {
    id: { $ref: `#/components/schemas/${one}Id` },
    ...(place !== null && { [place.field]: common('schemas', place.id) }),
    ...(outer !== null && { [idField(outer)]: { $ref: `#/components/schemas/${outer}Id` } }),
    ...Object.fromEntries(answered),
    ...(place !== null && {
      created_by: {
        ...common('schemas', 'UserId'),
        description: `The user who created the ${words(one)}.`,
      },
    }),
    created_at: time('created'),
    updated_at: time('last updated'),
  }
  return { ...schema, type: 'object', required: Object.keys(properties), properties }
}

/** The values that a creation stores in the fields that it does not have. */
function storedValues({ properties }: Json): Json {
  const unsent = Object.entries<Json>(properties).filter(
    ([, property]) => !isIn(property, 'create') && property.default !== undefined,
  )
  return Object.fromEntries(unsent.map(([key, property]) => [key, property.default]))
}

/** Whether the request has the property. */
function isIn(property: Json, request: 'create' | 'update'): boolean {
  return property.readOnly !== true && (property['x-writable'] ?? request) === request
}

/** The other schemas of the resource: its id, its creation and update, and its list. */
function schemasOf(name: string, crud: Declared, schema: Json, components: Record<string, Json>): Json {
  const { schema: one, prefix } = crud
  const what = words(one)
  const fieldsOf = (request: 'create' | 'update'): Array<[string, Json]> =>
    Object.entries<Json>(schema.properties)
      .filter(([, property]) => isIn(property, request))
      .map(([key, property]) => {
        const declared = components[`${one}${capital(request)}`]?.properties?.[key]
        return [key, declared?.$ref ? declared : requestSchema(withoutUse(property), components)]
      })
  return {
    [`${one}Id`]: {
      type: 'string',
      pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
      description: `The ID of ${withArticle(what)}. It starts with \`${prefix}_\`.`,
      examples: [`${prefix}_01jd6y8m5qe8btc4y5w1r0n3fz`],
    },
    ...(has(crud, 'create') && {
      [`${one}Create`]: {
        type: 'object',
        description: `A new ${what}.`,
        additionalProperties: false,
        ...(schema.required && { required: schema.required }),
        properties: Object.fromEntries(fieldsOf('create')),
      },
    }),
    ...(has(crud, 'update') && {
      [`${one}Update`]: {
        type: 'object',
        description: `The fields of the ${what} to change.`,
        additionalProperties: false,
        properties: Object.fromEntries(
          fieldsOf('update').map(([key, property]) => [key, inUpdate(property)]),
        ),
      },
    }),
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

/** Answers promise nothing about texts, so that a limit can be raised. */
function withoutLimits({ minLength: _min, maxLength: _max, pattern: _, ...property }: Json): Json {
  const { 'x-pattern-says': _says, 'x-lowercase': _case, ...rest } = property
  return rest
}

/** Without what says which requests have the property. */
function withoutUse({ readOnly: _, 'x-writable': _writable, ...property }: Json): Json {
  return property
}

function withoutDefault(property: Json): Json {
  const { default: value, ...rest } = property ?? {}
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
  /** The values of fields that a creation leaves out. */
  absent: Record<string, unknown>
}

/** The operations that the default handlers answer, by what they do. */
export function operationIds(resource: Declared & { name: string }): Record<string, string> {
  const { schema, name } = resource
  return {
    list: `list${capital(name)}`,
    get: `get${schema}`,
    ...Object.fromEntries(
      writes.filter((verb) => has(resource, verb)).map((verb) => [verb, `${verb}${schema}`]),
    ),
  }
}

/** The resources in the bundled document, with the path of the list of each. */
export function declaredResources(
  document: Json,
): Array<Declared & { stored: Json } & Pick<CrudResource, 'path' | 'name' | 'table'>> {
  return Object.entries<Json>(document.paths ?? {}).flatMap(([path, item]) => {
    const crud = item['x-crud']
    if (!isComplete(crud) || item.get === undefined) return []
    const list = item.get.operationId.replace(/^list/, '')
    const name = list[0].toLowerCase() + list.slice(1)
    return [{ stored: {}, ...crud, path, name, table: snake(name) }]
  })
}

/** Removes x-crud from the bundled document. @throws GenerateError. */
export function takeResources(document: Json): CrudResource[] {
  const declared = declaredResources(document)
  for (const item of Object.values<Json>(document.paths)) delete item['x-crud']
  return declared.map(({ stored, ...crud }) => {
    const url = crud.path
    const outer = outerSchema(crud)
    const expected = outer === null ? (placeOf(crud)?.path ?? '') : `/{${idField(outer)}}`
    if (!url.split('/').slice(0, -1).join('/').endsWith(expected))
      throw new GenerateError(
        `x-crud of ${url}: the path of a list${ofOuter(crud)} ends with ${expected}/ and its name.`,
      )
    const { properties } = document.components.schemas[crud.schema]
    const creation = document.components.schemas[`${crud.schema}Create`]
    const isOptional = (key: string): boolean => {
      const property = creation?.properties[key]
      return property === undefined || (!creation.required?.includes(key) && property.default === undefined)
    }
    const isOnlyComputed = (key: string): boolean =>
      properties[key]['x-computed'] !== undefined && creation?.properties[key] === undefined
    const absent = Object.fromEntries(
      storedFields({ ...crud, properties })
        .filter((key) => isOptional(key) && !isOnlyComputed(key))
        .map((key) => {
          if (Object.hasOwn(stored, key)) return [key, stored[key]]
          if (isMetadata(properties[key])) return [key, {}]
          if (isNullable(document, properties[key])) return [key, null]
          throw new GenerateError(
            `${crud.schema}.${key}: a creation may leave it out, so it needs a default or the type 'null'.`,
          )
        }),
    )
    return { ...crud, properties, absent }
  })
}

/** The fields of the resource itself that its statements store. */
function storedFields(resource: Declared & { properties: Json }): string[] {
  const outer = outerSchema(resource)
  const fixed = ['id', placeOf(resource)?.field, 'created_by', 'created_at', 'updated_at']
  return Object.keys(resource.properties).filter(
    (key) => !fixed.includes(key) && (outer === null || key !== idField(outer)),
  )
}

function isNullable(document: Json, schema: Json): boolean {
  const target = resolved(document, schema)
  return (
    [target.type].flat().includes('null') ||
    (target.anyOf ?? target.oneOf ?? []).some((one: Json) => isNullable(document, one))
  )
}

/**
 * The statements of the resources, for the generator of generated/sql, by file name. A file of prisma/sql
 * replaces the statement with its name.
 */
export function resourceStatements(
  document: Json,
  resources: CrudResource[],
  isReplaced: (file: string) => boolean,
): Map<string, string> {
  return new Map(
    resources.flatMap((resource) =>
      Object.entries(statementsOf(document, resource))
        .filter(([name]) => !isReplaced(`prisma/sql/${resource.table}/${name}.sql`))
        .map(([name, text]) => [`resources/${resource.table}/${name}.sql`, text] as const),
    ),
  )
}

function statementsOf(document: Json, resource: CrudResource): Record<string, string> {
  const { schema, prefix, name, table, properties, sort = [], filters = [], parameters = [] } = resource
  const what = words(schema)
  const a = withArticle(what)
  const column = (key: string): string => properties[key]['x-column'] ?? key
  const keys = Object.keys(properties).filter((key) => properties[key]['x-computed'] === undefined)
  const typeOf = (key: string): Json => resolved(document, properties[key])
  // Prisma's list columns have no NOT NULL. Every creation gives them a value.
  const mark = (key: string): string => (typeOf(key).type === 'array' ? '!' : '')
  const columns = keys.map((key) =>
    column(key) === key && mark(key) === '' ? `t.${key}` : `t.${column(key)} AS "${key}${mark(key)}"`,
  )
  const given = (key: string): string => `:${key}${isNullable(document, properties[key]) ? '?' : ''}`
  const typed = keys.filter((key) => {
    const { type, enum: values } = typeOf(key)
    const isScalar = [type].flat().every((one) => one !== undefined && one !== 'object' && one !== 'array')
    return values !== undefined || !isScalar
  })
  const types = typed.map((key) => `-- @type ${key} Schemas['${schema}']['${key}']\n`).join('')
  const outer = outerSchema(resource)
  const within = [placeOf(resource)?.field, outer === null ? undefined : idField(outer)]
  const inside = within.flatMap((key) => (key === undefined ? [] : [`t.${column(key)} = :${key}`]))
  const own = storedFields(resource).filter((key) => keys.includes(key))
  const changed = own.filter((key) => isChanged(document, resource, key))
  const found = `SELECT {columns}\nFROM ${table} t\n` + `WHERE ${['t.id = :id', ...inside].join(' AND ')}\n`
  const inserted = keys.map((key) => (key === 'updated_at' ? ':created_at' : given(key)))
  // The order of ids is that of creation. Names are sorted regardless of case.
  const sorted = (key: string): string => {
    const { type, format, enum: values } = typeOf(key)
    if (key === 'created_at') return 't.id'
    const isText = type === 'string' && format === undefined && values === undefined
    return isText ? `lower(t.${column(key)})` : `t.${column(key)}`
  }
  const filterable = [`t.id=${prefix}`, 't.updated_at', ...(keys.includes('metadata') ? ['t.metadata'] : [])]
  return {
    columns: `-- The columns of ${a}, from ${table} t.\n${types}${columns.join(', ')}\n`,
    list:
      `-- The ${words(name)}${ofOuter(resource)}.\n-- @page\n` +
      `SELECT {columns}\nFROM ${table} t\nWHERE ${inside.join(' AND ') || 'true'}\n` +
      `-- @common ${filterable.join(' ')}\n` +
      filters.map((key) => `-- @filter ${key}\nt.${column(key)} = :${key}\n`).join('') +
      parameters.map((one) => `-- @filter ${one.name} searches\n{${conditionOf(one)}}\n`).join('') +
      ['created_at', 'updated_at', ...sort].map((key) => `-- @sort ${key}\n${sorted(key)}\n`).join('') +
      '-- @id\nt.id\n',
    find: `-- ${capital(a)}${ofOuter(resource)}.\n-- @optional\n${found}`,
    lock:
      `-- ${capital(a)}${ofOuter(resource)}, locked against other writers.\n-- @optional\n` +
      `${found}FOR NO KEY UPDATE\n`,
    insert:
      `-- Inserts ${a}.\n-- @one\nINSERT INTO ${table} AS t (${keys.map(column).join(', ')})\n` +
      `VALUES (${inserted.join(', ')})\nRETURNING {columns}\n`,
    ...(has(resource, 'update') && {
      update:
        `-- Updates a locked ${what}.\n-- @one\nUPDATE ${table} t SET ` +
        changed.map((key) => `${column(key)} = ${given(key)}, `).join('') +
        `updated_at = :updated_at\nWHERE t.id = :id\nRETURNING {columns}\n`,
    }),
    ...(has(resource, 'delete') && {
      remove: `-- Deletes ${a}.\n-- @none\nDELETE FROM ${table} WHERE id = :id\n`,
    }),
  }
}

/** Whether an operation can change the field: one of the resource's own may change it, too. */
function isChanged(document: Json, { schema }: CrudResource, key: string): boolean {
  const [creation, update] = ['Create', 'Update'].map((kind) => document.components.schemas[schema + kind])
  return update?.properties[key] !== undefined || creation?.properties[key] === undefined
}

/** The name of the file in prisma/sql with the condition of a parameter of a list. */
export function conditionOf({ name }: Json): string {
  return `filter-${name.replaceAll('_', '-')}`
}

/** generated/resources.ts: what services/resources.ts knows of each resource. */
export function emitResources(resources: CrudResource[]): string {
  const types = resources.map((resource) => {
    const parent = outerSchema(resource)
    const ids = { ...(parent && { parent }), ...operationIds(resource) }
    const fields = Object.entries(ids).map(([key, id]) => `    ${key}: '${id}'`)
    return `  ${resource.schema}: {\n${fields.join('\n')}\n  }\n`
  })
  const rows = resources.map((resource) => {
    const { schema, prefix, path, properties, absent } = resource
    const outer = outerSchema(resource)
    const renamed = Object.entries(properties).filter(([, property]) => property['x-column'] !== undefined)
    const row = {
      name: words(schema),
      event: snake(schema),
      prefix,
      path,
      operations: operationIds(resource),
      parameter: idParameter(resource),
      place: placeName(resource),
      outer: outer === null ? null : { name: words(outer), parameter: idField(outer) },
      fields: Object.fromEntries(renamed.map(([key, property]) => [property['x-column'], key])),
      absent,
    }
    return `  ${schema}: ${JSON.stringify(row)},\n`
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
  /** The ids of its operations, by what they do. */
  operations: Record<string, string>
  /** The path parameter with its id. */
  parameter: string
  /** What it, or the resource that it is in, is in. */
  place: 'project' | 'organization' | 'platform'
  /** The resource that it is in; null for the place alone. */
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
