// The resources with x-crud in the bundled document, and generated/resources.ts.
import { resolve as resolved } from '@platform-api/openapi/resolve.ts'
import { GenerateError } from '../error.ts'
import type { Origin } from '../origins.ts'
import { banner } from '../types.ts'
import {
  capital,
  has,
  idField,
  idParameter,
  isComplete,
  isMetadata,
  ofOuter,
  outerSchema,
  placeName,
  placeOf,
  snake,
  words,
  writes,
  type Declared,
} from './declared.ts'

type Json = any

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

/** What the expansion of x-crud keeps in it. */
interface Kept {
  /** The values of fields that a creation does not have. */
  stored: Record<string, unknown>
  /** Where the file declares parts of the generated schemas itself. */
  own: Origin[]
}

/** The resources in the bundled document, with the path of the list of each. */
export function declaredResources(
  document: Json,
): Array<Declared & Kept & Pick<CrudResource, 'path' | 'name' | 'table'>> {
  return Object.entries<Json>(document.paths ?? {}).flatMap(([path, item]) => {
    const crud = item['x-crud']
    if (!isComplete(crud) || item.get === undefined) return []
    const list = item.get.operationId.replace(/^list/, '')
    const name = list[0].toLowerCase() + list.slice(1)
    return [{ stored: {}, own: [], ...crud, path, name, table: snake(name) }]
  })
}

/** Removes x-crud from the bundled document. @throws GenerateError. */
export function takeResources(document: Json): CrudResource[] {
  const declared = declaredResources(document)
  for (const item of Object.values<Json>(document.paths)) delete item['x-crud']
  return declared.map(({ stored, own: _, ...crud }) => {
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
export function storedFields(resource: Declared & { properties: Json }): string[] {
  const outer = outerSchema(resource)
  const fixed = ['id', placeOf(resource)?.field, 'created_by', 'created_at', 'updated_at']
  return Object.keys(resource.properties).filter(
    (key) => !fixed.includes(key) && (outer === null || key !== idField(outer)),
  )
}

export function isNullable(document: Json, schema: Json): boolean {
  const target = resolved(document, schema)
  return (
    [target.type].flat().includes('null') ||
    (target.anyOf ?? target.oneOf ?? []).some((one: Json) => isNullable(document, one))
  )
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
  /** The kind of the outermost parent. */
  place: 'project' | 'organization' | 'platform'
  /** The parent resource; null for a resource directly in the place. */
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
