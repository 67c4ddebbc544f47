// The operations that x-crud becomes.
import {
  capital,
  common,
  has,
  idField,
  idParameter,
  ofOuter,
  outerOf,
  outerSchema,
  placeName,
  placeOf,
  withArticle,
  words,
  type Declared,
} from './declared.ts'
import { withoutDefault, withoutUse } from './schemas.ts'

type Json = any

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

export const json = (name: string): Json => ({
  'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
})

export function listAndCreate(name: string, crud: Declared, schema: Json): Json {
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

export function getUpdateDelete(crud: Declared): Json {
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

/** No value of a query parameter means null. */
function withoutNull(schema: Json): Json {
  if (Array.isArray(schema.anyOf)) {
    const others = schema.anyOf.filter(({ type }: Json) => type !== 'null')
    return others.length === 1 ? others[0] : { ...schema, anyOf: others }
  }
  if (!Array.isArray(schema.type)) return schema
  const types = schema.type.filter((type: string) => type !== 'null')
  const values = schema.enum?.filter((value: unknown) => value !== null)
  return { ...schema, type: types.length === 1 ? types[0] : types, ...(values && { enum: values }) }
}
