// Expands x-crud, before everything else reads the spec: a path item with it and a schema become the
// operations of a resource, with their schemas and events. The resource is in a project, an organization or
// another such resource, or in none. docs/spec-extensions.md describes it.
import { BaseResolver, type Document, type Source } from '@redocly/openapi-core'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { escaped } from '@platform-api/openapi/json-pointer.ts'
import { isObject } from '../../infra/validation/strict-json.ts'
import { originOf, type Origin } from './origins.ts'
import type { SpecProblem } from './references.ts'
import {
  capital,
  has,
  idParameter,
  isComplete,
  placeName,
  placeOf,
  schemaAt,
  snake,
  withArticle,
  words,
  writes,
  type Declared,
} from './crud/declared.ts'
import { defaultOrigins, operationOrigins, ownOrigins, schemaOrigins } from './crud/origins.ts'
import { crudProblems } from './crud/problems.ts'
import { getUpdateDelete, listAndCreate } from './crud/operations.ts'
import { answerSchema, schemasOf, storedValues } from './crud/schemas.ts'

type Json = any

/** Reads the files of the spec and expands x-crud in them. */
export class SpecResolver extends BaseResolver {
  /** The problems in the x-crud of the files read so far. */
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

  /** The origin of the part at the pointer; the same pointer for a part that the file itself has. */
  originOf(file: string, pointer: string): string {
    return originOf(this.#origins.get(file) ?? [], pointer)
  }
}

const itemOf = (name: string): string => `${name}Item`

/** Adds to the root document the path of an item, and the events, of each path that leads to an x-crud. */
function expandPaths(root: Json, file: string): Origin[] {
  const origins: Origin[] = []
  const paths: Json = {}
  const parsed = new Map<string, Json>()
  for (const [path, item] of Object.entries<Json>(root.paths ?? {})) {
    paths[path] = item
    const [target, name] = /^([^#]+)#\/paths\/(\w+)$/.exec(item?.$ref ?? '')?.slice(1) ?? []
    if (target === undefined) continue
    if (!parsed.has(target)) parsed.set(target, parsedWithCrud(resolve(dirname(file), target)))
    const crud: Declared | undefined = parsed.get(target)?.paths?.[name]?.['x-crud']
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

/** The files with x-crud, for the loop of `npm run dev`, which reads them at each save. */
const parsedFiles = new Map<string, { text: string; parsed: Json }>()

/** undefined for a file without x-crud. */
function parsedWithCrud(file: string): Json {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (!text.includes('x-crud:')) return undefined
  const known = parsedFiles.get(file)
  if (known?.text === text) return known.parsed
  const parsed = parse(text)
  parsedFiles.set(file, { text, parsed })
  return parsed
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
    file.paths[name] = merged(listAndCreate(name, crud, schema), item)
    file.paths[itemPath] = merged(getUpdateDelete(crud), file.paths[itemPath])
    const generated = Object.entries(schemasOf(name, crud, schema, schemas))
    const own = generated.flatMap(([key]) => ownOrigins(schemas[key], schemaAt(key)))
    origins.push(...own)
    for (const [key, schema] of generated) schemas[key] = merged(schema, schemas[key])
    // For what reads the bundled document.
    file.paths[name]['x-crud'] = { ...crud, stored: storedValues(schema), own }
    schemas[crud.schema] = answerSchema(crud, schema)
  }
  for (const name of Object.keys(file.components?.schemas ?? {}))
    if (!declared.has(name) && name.endsWith('Input'))
      origins.push([schemaAt(name), schemaAt(name.slice(0, -'Input'.length))])
  return origins
}

/** The generated part with what the file declares of it. Lists, and what refers elsewhere, are replaced. */
function merged(generated: Json, declared: Json): Json {
  if (declared === undefined) return generated
  if (!isObject(generated) || !isObject(declared) || declared.$ref !== undefined) return declared
  if (generated.$ref !== undefined && declared.type !== undefined) return declared
  const own = Object.entries(declared).map(([key, value]) => [key, merged(generated[key], value)])
  return { ...generated, ...Object.fromEntries(own) }
}
