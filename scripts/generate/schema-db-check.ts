// Compares the schemas of the spec with the tables of the database: types, nullability, allowed values,
// lengths, ranges, and columns that must never be returned.
//
// A schema belongs to the model of its name or of `x-model`; `ProjectCreate`, `ProjectUpdate` and
// `ProjectWith…` belong to Project. A property belongs to the column of its name or of `x-column`.
// `x-computed` says what a property without a column is computed from, and `x-differs` why a property
// differs from its column on purpose. `x-when-omitted` says what the server stores if a creation leaves out a
// property whose column is NOT NULL without a default.
import { existsSync, readFileSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createSpecLocator } from '../changes/spec-locator.ts'
import { flattened } from '../constraints/constraints.ts'
import {
  readDatabase,
  schemaFile,
  type Column,
  type Database,
  type Model,
  type Place,
  type Sources,
} from './schema-db-check/database.ts'
import { compareColumn } from './schema-db-check/compare.ts'
import { mustBeSent, tableMismatches, unstorable } from './schema-db-check/resources.ts'
import { documentOrigins } from './crud/origins.ts'
import { declaredResources } from './crud/resources.ts'
import { conditionOf } from './crud/statements.ts'
import { GenerateError } from './error.ts'
import { escaped } from '@platform-api/openapi/json-pointer.ts'
import { originOf } from './origins.ts'

type Json = any

export interface Finding {
  schema: string
  /** The JSON pointer of the property or the schema. */
  pointer: string
  message: string
  /** The place in the database's sources. */
  database: Place
}

/** All mismatches between the document and the database. */
export function findings(document: Json, database: Database): Finding[] {
  const { requests, responses, creations } = usesOf(document)
  const resources = declaredResources(document)
  const withCrud = new Set(resources.flatMap(({ schema }) => [schema, `${schema}Create`, `${schema}Update`]))
  const ofTables = resources.flatMap((resource): Finding[] => {
    const { schema, path } = resource
    const model = modelOf(schema, document.components.schemas[schema], database)
    const known = typeof model === 'string' ? null : model
    return tableMismatches(resource, document.components.schemas[schema], known).map((found) => ({
      schema,
      pointer: `/paths/${escaped(path)}/x-crud/schema`,
      ...found,
    }))
  })
  const ofSchemas = Object.entries<Json>(document.components?.schemas ?? {}).flatMap(([name, schema]) => {
    const model = modelOf(name, schema, database)
    if (model === null) return []
    if (typeof model === 'string')
      return [
        {
          schema: name,
          pointer: `/components/schemas/${name}`,
          message: `there is no model ${model}`,
          database: { file: schemaFile, line: 1 },
        },
      ]
    return properties(schema, `/components/schemas/${name}`, true).flatMap(
      ({ pointer, name: property, schema: own, isOwn }): Finding[] => {
        const found = (message: string, place: Place): Finding => ({
          schema: name,
          pointer,
          message: `${name}.${property} ${message}`,
          database: place,
        })
        const wanted = own['x-column'] ?? property
        const column = model.columns.find((each) => each.name === wanted)
        if (own['x-computed'] !== undefined)
          return column?.secret == null || !responses.has(name) ? [] : [found(leak(model, column), column)]
        // A property of a nested object belongs to a column only with x-column.
        if (column === undefined)
          return isOwn || own['x-column'] !== undefined
            ? [
                found(
                  `has no column ${model.name}.${wanted}: add x-column, or x-computed if it has no column`,
                  model,
                ),
              ]
            : []
        if (!isOwn && own['x-column'] === undefined) return []
        if (column.secret !== null && responses.has(name) && own['x-differs'] === undefined)
          return [found(leak(model, column), column)]
        const unfit = withCrud.has(name) ? unstorable(document, own, column, database) : null
        if (unfit !== null) return [found(unfit, column)]
        const mayBeOmitted = creations.has(name) && isOwn && !(schema.required ?? []).includes(property)
        if (withCrud.has(name) && mayBeOmitted && mustBeSent(document, own, column))
          return [found('may be left out of a creation: add it to `required`, or a `default`', column)]
        if (own['x-differs'] !== undefined) return []
        return compareColumn(flattened(document, own), column, database, {
          inRequests: requests.has(name),
          inResponses: responses.has(name),
          optionalToCreate: mayBeOmitted && own['x-when-omitted'] === undefined,
        }).map(({ message, place }) => found(message, place ?? column))
      },
    )
  })
  return [...ofTables, ...ofSchemas]
}

function leak({ name }: Model, { field, secret }: Column): string {
  return `leaks the column ${name}.${field}: ${secret}`
}

/** The name if `x-model` names an unknown model; null if the schema has no model. */
function modelOf(name: string, schema: Json, { models }: Database): Model | string | null {
  const named = schema['x-model']
  if (named === false) return null
  if (named !== undefined) return models.get(named) ?? named
  return models.get(name) ?? models.get(name.replace(/(Create|Update|With[A-Z]\w*)$/, '')) ?? null
}

interface Property {
  pointer: string
  name: string
  schema: Json
  isOwn: boolean
}

/** The properties of the schema and of its nested objects. */
function properties(schema: Json, pointer: string, isOwn: boolean): Property[] {
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([name, own]) => {
    const at = `${pointer}/properties/${name}`
    const grouped = own.$ref === undefined && own.properties !== undefined
    const inside = grouped ? properties(own, at, false) : []
    // A nested object has no column of its own if its properties name columns.
    return inside.some(({ schema: { 'x-column': column } }) => column !== undefined)
      ? inside
      : [{ pointer: at, name, schema: own, isOwn }]
  })
}

/** The components used in requests and in responses, and those that are the body of a creation. */
function usesOf(document: Json): {
  requests: Set<string>
  responses: Set<string>
  creations: Set<string>
} {
  const requests = new Set<string>()
  const responses = new Set<string>()
  const creations = new Set<string>()
  const collect = (node: Json, into: Set<string>): void => {
    if (typeof node !== 'object' || node === null) return
    const [, , kind, name] = typeof node.$ref === 'string' ? node.$ref.split('/') : []
    if (name !== undefined && !into.has(`${kind} ${name}`)) {
      into.add(`${kind} ${name}`)
      if (kind === 'schemas') into.add(name)
      collect(document.components[kind]?.[name], into)
    }
    for (const [key, value] of Object.entries(node))
      if (key !== 'examples' && key !== 'example') collect(value, into)
  }
  for (const item of Object.values<Json>(document.paths ?? {})) {
    for (const operation of Object.values<Json>(item)) {
      collect(operation?.requestBody, requests)
      if (operation?.responses?.['201'] !== undefined)
        for (const { schema } of Object.values<Json>(operation.requestBody?.content ?? {}))
          if (schema?.$ref !== undefined) creations.add(schema.$ref.split('/').at(-1))
      collect(operation?.responses, responses)
    }
  }
  collect(document['x-events'], responses)
  return { requests, responses, creations }
}

/** Reads the Prisma schema and the migrations of the project in `folder`. */
export async function sourcesOf(folder: string): Promise<Sources> {
  const migrations = join(folder, 'prisma/migrations')
  const names = existsSync(migrations)
    ? (await readdir(migrations, { withFileTypes: true }))
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
        .sort()
    : []
  return {
    schema: await readFile(join(folder, schemaFile), 'utf8'),
    migrations: await Promise.all(
      names.map(async (name) => ({
        file: `prisma/migrations/${name}/migration.sql`,
        text: await readFile(join(migrations, name, 'migration.sql'), 'utf8'),
      })),
    ),
    omitted: await readFile(join(folder, 'infra/database/prisma.ts'), 'utf8'),
  }
}

/**
 * @param folder the project's folder.
 * @returns a line for each mismatch, with its places in the spec and in the database's sources.
 */
export async function mismatchesOf(folder: string, document: Json): Promise<string[]> {
  const found = [
    ...findings(document, readDatabase(await sourcesOf(folder))),
    ...missingStatements(folder, document),
  ]
  if (found.length === 0) return []
  const text = (file: string): string | null =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : null
  const locate = createSpecLocator(text)
  const origins = documentOrigins(document)
  const lines = found.map(({ schema, pointer, message, database }) => {
    const origin = originOf(origins, `#${pointer}`).slice(1)
    const { file, line } = locate(origin)
    const column = (text(file)?.split('\n')[line - 1] ?? '').indexOf(`${origin.split('/').at(-1)}:`) + 1
    // A derived schema has the name of the one that it is derived from.
    const [, , kind, written] = origin.split('/')
    const said = kind === 'schemas' ? message.replace(schema, written) : message
    return `${file}:${line}:${Math.max(column, 1)} ${said} (${database.file}:${database.line})`
  })
  return [...new Set(lines)]
}

/** The files that resources with x-crud still need: for parameters of lists and for computed properties. */
function missingStatements(folder: string, document: Json): Finding[] {
  return declaredResources(document).flatMap(({ schema, path, table, parameters = [] }) => {
    const conditions = parameters.map((parameter: Json, i: number) => ({
      file: conditionOf(parameter),
      pointer: `/paths/${escaped(path)}/x-crud/parameters/${i}/name`,
      message: `the list has no condition for \`${parameter.name}\`: write it to a file of its own`,
    }))
    const statements = [
      ['', 'columns'],
      ['Create', 'insert'],
      ['Update', 'update'],
    ].flatMap(([kind, file]) =>
      Object.entries<Json>(document.components.schemas[schema + kind]?.properties ?? {})
        .filter(([, property]) => property['x-computed'] !== undefined)
        .map(([name]) => ({
          file,
          pointer: `/components/schemas/${schema}/properties/${name}`,
          message: `${schema}.${name} has no column: write the ${file} of the resource to a file of its own`,
        })),
    )
    return [...conditions, ...statements].flatMap(({ file: name, pointer, message }): Finding[] => {
      const file = `prisma/sql/${table}/${name}.sql`
      return existsSync(join(folder, file)) ? [] : [{ schema, pointer, message, database: { file, line: 1 } }]
    })
  })
}

/** @throws GenerateError if the spec and the database do not match. */
export async function requireDatabaseMatch(folder: string, document: Json): Promise<void> {
  const lines = await mismatchesOf(folder, document)
  if (lines.length === 0) return
  const count = `${lines.length} ${lines.length === 1 ? 'mismatch' : 'mismatches'}`
  throw new GenerateError(
    `${lines.join('\n')}\n\n${count} between the spec and the database; nothing was written.`,
  )
}

const notes = ['x-model', 'x-column', 'x-computed', 'x-differs', 'x-when-omitted']

/** Removes the notes about the database from the document, because it is published. */
export function removeDatabaseNotes(node: Json): void {
  if (typeof node !== 'object' || node === null) return
  for (const note of notes) delete node[note]
  for (const value of Object.values(node)) removeDatabaseNotes(value)
}
