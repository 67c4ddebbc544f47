// The origins of the parts that x-crud generates.
import { escaped } from '@platform-api/openapi/json-pointer.ts'
import { isObject } from '../../../infra/validation/strict-json.ts'
import type { Origin } from '../origins.ts'
import { referencesIn } from '../references.ts'
import { crudAt, idParameter, isComplete, placeOf, schemaAt, type Declared } from './declared.ts'
import { declaredResources } from './resources.ts'

type Json = any

/** The origins of the parts of each x-crud in the bundled document. */
export function documentOrigins({ paths, components }: Json): Origin[] {
  const ofResources = Object.entries<Json>(paths ?? {}).flatMap(([url, item]): Origin[] => {
    const crud: Declared | undefined = item?.['x-crud']
    if (!isComplete(crud)) return []
    const itemPath = `${url}/{${idParameter(crud)}}`
    // Implied parameters come first.
    const first = item.get.parameters.findIndex(({ name }: Json) => name === 'sort')
    return [...operationOrigins(url, crud, { itemPath, first }), ...(item['x-crud'].own ?? [])]
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

/** The origins of the schemas of each x-crud in `paths`. */
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

/** The origins of the operations of an x-crud. */
export function operationOrigins(
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

/** What the file declares itself of a generated part. A schema with a type is its own as a whole. */
export function ownOrigins(declared: Json, pointer: string): Origin[] {
  if (declared === undefined) return []
  if (!isObject(declared) || declared.type !== undefined || declared.$ref !== undefined)
    return [[pointer, pointer]]
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

/** An answer has the default as an example. */
export function defaultOrigins(name: string, { properties }: Json): Origin[] {
  return Object.entries<Json>(properties).flatMap(([key, property]): Origin[] => {
    const at = `${schemaAt(name)}/properties/${escaped(key)}`
    const isMoved = property?.default !== undefined && property.examples === undefined
    return isMoved ? [[`${at}/examples`, `${at}/default`]] : []
  })
}
