// Generates generated/sql from prisma/sql: describes each statement against the migrated database. Also
// writes the generated part of docs/database.md. Does nothing when no source of them has changed.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../../infra/postgres/embedded.ts'
import { MigrationError } from '../../../infra/postgres/migrations.ts'
import { prepareDatabase } from '../../../infra/prepare-database.ts'
import { GenerateError } from '../error.ts'
import { readDatabase, schemaFile, type Model } from '../schema-db-check/database.ts'
import { readCatalog, type Catalog } from './catalog.ts'
import { databasePage, generatedPart, pageFile, writePage } from './database-page.ts'
import { describe, type Description } from './describe.ts'
import { emitSql, typed, type Described } from './emit.ts'
import { requireFunctions } from './functions.ts'
import { columnPositions, missingColumns } from './columns.ts'
import { unmadeParts } from './unmade.ts'
import { nullableColumns } from './nullability.ts'
import {
  placeOf,
  readSources,
  resourceFiles,
  sqlFiles,
  SqlMistake,
  type SqlSource,
  type Text,
} from './source.ts'

const stampName = 'sources.sha256'

/**
 * Writes generated/sql and docs/database.md if their sources have changed. @returns what it wrote.
 * @throws SqlMistake, or GenerateError for a missing comment.
 */
export async function generateSql(root: string): Promise<string[]> {
  const out = join(root, 'generated/sql')
  if (textOf(join(out, stampName)) === stampOf(root, generatedPart(root))) return []
  const { files, page } = await emitFrom(root)
  mkdirSync(out, { recursive: true })
  const wrote = [...files].filter(([name, text]) => textOf(join(out, name)) !== text)
  for (const [name, text] of wrote) writeFileSync(join(out, name), text)
  for (const name of readdirSync(out)) if (!files.has(name)) rmSync(join(out, name))
  const changed = wrote.map(([name]) => `sql/${name}`).filter((name) => name !== `sql/${stampName}`)
  return [...changed, ...writePage(root, page)]
}

/** @returns the files that are out of date. @throws SqlMistake. */
export async function staleSql(root: string): Promise<string[]> {
  const out = join(root, 'generated/sql')
  const { files, page } = await emitFrom(root)
  const present = existsSync(out) ? readdirSync(out) : []
  const stale = [...new Set([...files.keys(), ...present])]
    .filter((name) => textOf(join(out, name)) !== (files.get(name) ?? null))
    .map((name) => `generated/sql/${name}`)
  return generatedPart(root) === page ? stale : [...stale, pageFile]
}

/** The files of generated/sql by name, and the generated part of docs/database.md. */
async function emitFrom(root: string): Promise<{ files: Map<string, string>; page: string }> {
  const sources = readSources(root)
  const { files, page } = await withDatabase((client) => describeProject(client, root, sources))
  return { files: files.set(stampName, stampOf(root, page)), page }
}

/**
 * @param client connected to a database that has all migrations.
 * @returns the modules of generated/sql by name, and the generated part of docs/database.md.
 * @throws GenerateError that lists all mistakes.
 */
export async function describeProject(
  client: pg.Client,
  root: string,
  sources: SqlSource[],
): Promise<{ files: Map<string, string>; page: string }> {
  await requireFunctions(client, root)
  const page = await databasePage(client, root)
  await client.query(pgvectorStub)
  const schema = readFileSync(join(root, schemaFile), 'utf8')
  const { models } = readDatabase({ schema, migrations: [], omitted: '' })
  return { files: emitSql(await describeAll(client, sources, [...models.values()])), page }
}

function textOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

/** A hash of everything that decides about generated/sql, and of the generated part of docs/database.md. */
function stampOf(root: string, page: string): string {
  const own = readdirSync(import.meta.dirname).map((name) => join(import.meta.dirname, name))
  const migrations = join(root, 'prisma/migrations')
  const inputs = [
    ...own,
    join(import.meta.dirname, '../schema-db-check/database.ts'),
    join(root, schemaFile),
    ...readdirSync(migrations, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.sql'))
      .map((name) => join(migrations, name)),
    ...[...sqlFiles(root), ...resourceFiles(root)].map((name) => join(root, name)),
  ].sort()
  const hash = createHash('sha256').update(page)
  for (const file of inputs)
    hash
      .update(`${file.slice(root.length)}\n`)
      .update(readFileSync(file))
      .update('\n')
  return `${hash.digest('hex')}\n`
}

/** The part of pgvector that statements use, because the embedded PostgreSQL lacks it. */
const pgvectorStub = `
  CREATE DOMAIN vector AS real[];
  CREATE FUNCTION cosine_distance(real[], real[]) RETURNS float8 LANGUAGE sql RETURN 0;
  CREATE OPERATOR <=> (LEFTARG = real[], RIGHTARG = real[], FUNCTION = cosine_distance)`

/** Runs `use` with a connection to an empty database that has all migrations. */
async function withDatabase<T>(use: (client: pg.Client) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-sql-'))
  try {
    const server = await startEmbedded({ dataDir: folder, whenRunning: 'refuse', throwaway: true })
    try {
      await prepareDatabase(server.url).catch((error: unknown) => {
        if (!(error instanceof MigrationError)) throw error
        throw new GenerateError(`${error.message}\n${error.excerpt}`.trim(), { cause: error })
      })
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      try {
        return await use(client)
      } finally {
        await client.end()
      }
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * @param models those of prisma/schema.prisma. A table that no migration makes is reported once.
 * @throws GenerateError that lists the first mistake of each statement.
 */
export async function describeAll(
  client: pg.Client,
  sources: SqlSource[],
  models: Model[] = [],
): Promise<Described[]> {
  const catalog = await readCatalog(client)
  const unmade = unmadeParts(models, catalog)
  const described: Described[] = []
  // A set: statements that include the same file have the same mistake.
  const mistakes = new Set<string>()
  for (const source of sources)
    try {
      described.push(await describeOne(client, source, catalog))
    } catch (error) {
      if (!(error instanceof SqlMistake)) throw error
      mistakes.add(unmade.find(({ complaint }) => complaint.test(error.message))?.message ?? error.message)
    }
  if (mistakes.size > 0) throw new GenerateError([...mistakes].join('\n'))
  return described
}

async function describeOne(client: pg.Client, source: SqlSource, catalog: Catalog): Promise<Described> {
  const description = await describeText(client, source, source.text)
  const { list, file, returns, returnsAt, places, text } = source
  if (returns === 'none' && description.columns.length > 0)
    throw new SqlMistake(file, returnsAt, 'a statement with @none returns no columns')
  if (returns !== 'none' && description.columns.length === 0)
    throw new SqlMistake(file, returnsAt, `a statement with @${returns} returns columns`)
  if (list !== null) await describeParts(client, source, description)
  const names = description.columns.map(({ name }) => name)
  const mistakeAt = (position: number, message: string): SqlMistake => {
    const place = placeOf(text, position)
    return new SqlMistake(place.file, place.offset, message)
  }
  const mistakeIn = (column: number, message: string): SqlMistake =>
    mistakeAt(columnPositions(text.sql, names.length)[column] ?? 0, message)
  for (const { name, position } of missingColumns(text.sql, catalog))
    throw mistakeAt(position, `the INSERT lacks ${name}, which is NOT NULL and has no default`)
  const second = names.findIndex((name, i) => names.indexOf(name) !== i)
  if (second !== -1) throw mistakeIn(second, `two columns are named ${names[second]}`)
  for (const [name, place] of places)
    if (!names.includes(name)) throw new SqlMistake(place.file, place.offset, `there is no column ${name}`)
  for (const [i, { name, type }] of description.columns.entries())
    if (catalog.types.get(type)?.row == null && !source.types.has(name))
      throw mistakeIn(
        i,
        `the column ${name} has the type ${catalog.types.get(type)?.name ?? type}, which rows do not ` +
          'convert: cast it, or declare its @type',
      )
  const nullable = nullableColumns(
    text.sql,
    source.parameters.map((parameter) => parameter.nullable),
    catalog,
  )
  return typed(source, description, { catalog, nullable })
}

async function describeText(client: pg.Client, source: SqlSource, text: Text): Promise<Description> {
  try {
    return await describe(client, text.sql)
  } catch (error) {
    const { message, position, hint } = error as { message: string; position?: string; hint?: string }
    const { file, offset } = placeOf(text, position === undefined ? 0 : Number(position) - 1)
    throw new SqlMistake(file, offset, hint === undefined ? message : `${message} (${hint})`)
  }
}

/** Describes the list with each filter and each sort key, and takes over the types of their parameters. */
async function describeParts(client: pg.Client, source: SqlSource, description: Description): Promise<void> {
  const { filters, sorts, totals, id } = source.list!
  const join = (separator: string, part: Text): Text => ({
    sql: `${source.text.sql}${separator}${part.sql}`,
    origins: [
      ...source.text.origins,
      ...part.origins.map((origin) => ({
        ...origin,
        at: origin.at + source.text.sql.length + separator.length,
      })),
    ],
  })
  const parts = [
    ...filters.map(({ text }) => join('\nAND ', text)),
    ...filters.flatMap(({ otherwise }) => (otherwise === null ? [] : [join('\nAND ', otherwise)])),
    ...sorts.map(({ text }) => join('\nORDER BY ', text)),
    join('\nORDER BY ', id),
    ...totals.map(({ text }) => text),
  ]
  for (const part of parts) {
    const { text, numbers } = renumbered(part)
    const { parameters } = await describeText(client, source, text)
    for (const [i, type] of parameters.entries()) description.parameters[numbers[i] - 1] = type
  }
}

/** The text with its parameters numbered without gaps, and their numbers before. */
function renumbered(part: Text): { text: Text; numbers: number[] } {
  const numbers: number[] = []
  // The same number of digits keeps the places: there are fewer than ten more parameters than before.
  const sql = part.sql.replace(/\$(\d+)/g, (whole, digits: string) => {
    let index = numbers.indexOf(Number(digits))
    if (index === -1) index = numbers.push(Number(digits)) - 1
    return `$${index + 1}`.padEnd(whole.length)
  })
  return { text: { ...part, sql }, numbers }
}
