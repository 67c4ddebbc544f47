// Holds the schemas of the spec against the tables behind them, so that neither promises what the other cannot keep: which
// may be null, which values there are, how long and how large they may be, and what must never be answered.
//
// A schema is about the model of its name, or of `x-model`; `ProjectCreate`, `ProjectUpdate` and `ProjectWith…` are about Project. A property is about
// the column of its name, or of `x-column`; one that is made of something else says of what in `x-computed`, and one that
// differs on purpose why, in `x-differs`.
import { existsSync, readFileSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createPlaces } from '../changes/source-locations.ts'
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
import { disagreements } from './schema-db-check/compare.ts'
import { GenerateError } from './error.ts'

type Json = any

export interface Finding {
  schema: string
  /** Of the property, or of the schema. */
  pointer: string
  says: string
  /** The other place. */
  database: Place
}

/** Everything in which the document and the database disagree. */
export function findings(document: Json, database: Database): Finding[] {
  const { asked, answered } = uses(document)
  return Object.entries<Json>(document.components?.schemas ?? {}).flatMap(([name, schema]) => {
    const model = modelOf(name, schema, database)
    if (model === null) return []
    if (typeof model === 'string')
      return [
        {
          schema: name,
          pointer: `/components/schemas/${name}`,
          says: `there is no model ${model}`,
          database: { file: schemaFile, line: 1 },
        },
      ]
    return properties(schema, `/components/schemas/${name}`, true).flatMap(
      ({ pointer, name: property, schema: own, isOwn }): Finding[] => {
        const found = (says: string, place: Place): Finding => ({
          schema: name,
          pointer,
          says: `${name}.${property} ${says}`,
          database: place,
        })
        const wanted = own['x-column'] ?? property
        const column = model.columns.find((each) => each.name === wanted)
        if (own['x-computed'] !== undefined)
          return column?.secret == null || !answered.has(name) ? [] : [found(leak(model, column), column)]
        // What stands in a group is of the model only where it says so.
        if (column === undefined)
          return isOwn || own['x-column'] !== undefined
            ? [
                found(
                  `has no column ${model.name}.${wanted}: name it in x-column, or say in x-computed what it is made of`,
                  model,
                ),
              ]
            : []
        if (!isOwn && own['x-column'] === undefined) return []
        if (column.secret !== null && answered.has(name) && own['x-differs'] === undefined)
          return [found(leak(model, column), column)]
        return disagreements(flattened(document, own), column, database, {
          asked: asked.has(name),
          answered: answered.has(name),
        })
          .filter(({ excusable }) => !excusable || own['x-differs'] === undefined)
          .map(({ says, place }) => found(says, place ?? column))
      },
    )
  })
}

function leak({ name }: Model, { field, secret }: Column): string {
  return `leaks the column ${name}.${field}: ${secret}`
}

/** The model's name where there is no such model, and null where the schema is about none. */
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

/** Those of the schema, and those in its groups. */
function properties(schema: Json, pointer: string, isOwn: boolean): Property[] {
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([name, own]) => {
    const at = `${pointer}/properties/${name}`
    const grouped = own.$ref === undefined && own.properties !== undefined
    const inside = grouped ? properties(own, at, false) : []
    // A group is no column by itself, where what is in it names its columns.
    return inside.some(({ schema: { 'x-column': column } }) => column !== undefined)
      ? inside
      : [{ pointer: at, name, schema: own, isOwn }]
  })
}

/** Which components are sent, and which are answered. */
function uses(document: Json): { asked: Set<string>; answered: Set<string> } {
  const asked = new Set<string>()
  const answered = new Set<string>()
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
      collect(operation?.requestBody, asked)
      collect(operation?.responses, answered)
    }
  }
  collect(document['x-events'], answered)
  return { asked, answered }
}

/** What the project in `folder` says of its database. */
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
    omitted: await readFile(join(folder, 'infra/database/database.ts'), 'utf8'),
  }
}

/**
 * @param folder the project's, with spec/, prisma/ and services/ in it.
 * @returns a line for each finding, with the place in the spec and the place in the database.
 */
export async function disagreementsOf(folder: string, document: Json): Promise<string[]> {
  const found = findings(document, readDatabase(await sourcesOf(folder)))
  if (found.length === 0) return []
  const text = (file: string): string | null =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : null
  const placeOf = createPlaces(text)
  return found.map(({ pointer, says, database }) => {
    const { file, line } = placeOf(pointer)
    const column = (text(file)?.split('\n')[line - 1] ?? '').indexOf(`${pointer.split('/').at(-1)}:`) + 1
    return `${file}:${line}:${column} ${says} (${database.file}:${database.line})`
  })
}

/** @throws GenerateError where spec and database disagree. */
export async function requireAgreement(folder: string, document: Json): Promise<void> {
  const lines = await disagreementsOf(folder, document)
  if (lines.length === 0) return
  throw new GenerateError(
    `${lines.join('\n')}\n\nSpec and database disagree in ${lines.length} ${lines.length === 1 ? 'place' : 'places'}; nothing was written.`,
  )
}

const notes = ['x-model', 'x-column', 'x-computed', 'x-differs']

/** Takes what is only about the database out of the document: nobody outside has to know its tables. */
export function removeNotes(node: Json): void {
  if (typeof node !== 'object' || node === null) return
  for (const note of notes) delete node[note]
  for (const value of Object.values(node)) removeNotes(value)
}
