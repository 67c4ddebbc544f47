// Holds the functions and triggers of the migrated database against prisma/sql/functions, which shows what
// all migrations together result in.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { GenerateError } from '../error.ts'
import { placed, sqlFiles, SqlMistake } from './source.ts'

export const functionsFolder = 'prisma/sql/functions'

/** @throws GenerateError that lists the functions and triggers that differ, or that only one of both has. */
export async function requireFunctions(client: pg.Client, root: string): Promise<void> {
  const { migrated, declared } = await readDefinitions(client, root)
  compare(root, migrated, declared)
}

/**
 * The SQL that changes the functions and triggers of the database into those of prisma/sql/functions: the
 * files that differ, and what no file has any more. Empty if they match.
 */
export async function functionChanges(client: pg.Client, root: string): Promise<string> {
  const { migrated, declared } = await readDefinitions(client, root)
  const before = new Map(migrated.map((each) => [keyOf(each), each]))
  const after = new Set(declared.map(keyOf))
  const files = new Set(sqlFiles(root))
  // A function has one signature: another one replaces it.
  const replacing = new Set(declared.filter((each) => !before.has(keyOf(each))).map(({ name }) => name))
  const changed = new Set(
    declared.filter((each) => before.get(keyOf(each))?.text !== each.text).map((each) => fileOf(each)),
  )
  const gone = migrated.filter((each) =>
    each.kind === 'trigger' ? !after.has(keyOf(each)) : !files.has(fileOf(each)) || replacing.has(each.name),
  )
  // PostgreSQL does not replace a constraint trigger.
  const replaced = migrated.filter(
    (each) => after.has(keyOf(each)) && each.isConstraint && changed.has(fileOf(each)),
  )
  const dropTriggers = [...gone, ...replaced]
    .filter(({ kind }) => kind === 'trigger')
    .map(({ name, table }) => `DROP TRIGGER ${name} ON ${table};`)
  const dropFunctions = gone
    .filter(({ kind }) => kind === 'function')
    .map(({ name, signature }) => `DROP FUNCTION ${name}(${signature});`)
  const texts = [...changed].sort().map((file) => readFileSync(join(root, file), 'utf8').trim())
  return [...dropTriggers, ...dropFunctions, ...texts].map((text) => `${text}\n`).join('\n')
}

/** The definitions of the database, and those after all files of prisma/sql/functions ran. Rolls back. */
async function readDefinitions(
  client: pg.Client,
  root: string,
): Promise<{ migrated: Definition[]; declared: Definition[] }> {
  const files = sqlFiles(root).filter((file) => file.startsWith(`${functionsFolder}/`))
  const migrated = await definitions(client)
  // Loads pg_trgm: only then may a function set its parameters.
  await client.query("SELECT similarity('', '')")
  await client.query('BEGIN')
  try {
    for (const { name, table } of migrated.filter(({ kind }) => kind === 'trigger'))
      await client.query(`DROP TRIGGER ${name} ON ${table}`)
    for (const file of files) await create(client, root, file)
    return { migrated, declared: await definitions(client) }
  } finally {
    await client.query('ROLLBACK')
  }
}

interface Definition {
  kind: 'function' | 'trigger'
  name: string
  /** The table of a trigger. */
  table: string | null
  /** The name of the function, or of the trigger's function. */
  function: string
  /** The types of the function's arguments. */
  signature: string
  isConstraint: boolean
  /** The statement that creates it, without line breaks. */
  text: string
}

async function definitions(client: pg.Client): Promise<Definition[]> {
  const { rows } = await client.query<Definition>(`
    SELECT 'function' AS kind, p.proname AS name, NULL AS table, p.proname AS function,
      pg_get_function_identity_arguments(p.oid) AS signature, false AS "isConstraint",
      pg_get_functiondef(p.oid) AS text
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT 'trigger', g.tgname, g.tgrelid::regclass::text, p.proname, '', g.tgconstraint <> 0,
      pg_get_triggerdef(g.oid)
    FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE NOT g.tgisinternal AND g.tgparentid = 0 AND p.pronamespace = 'public'::regnamespace`)
  return rows.map((row) => ({ ...row, text: row.text.replace(/\s*\n\s*/g, ' ') }))
}

async function create(client: pg.Client, root: string, file: string): Promise<void> {
  const text = readFileSync(join(root, file), 'utf8')
  try {
    await client.query(text)
  } catch (error) {
    const { message, position = '1' } = error as { message: string; position?: string }
    throw new SqlMistake(file, Number(position) - 1, message)
  }
}

function keyOf(definition: Definition): string {
  return `${titleOf(definition)} ${definition.signature}`
}

function titleOf({ kind, name, table }: Definition): string {
  return `${kind} ${name}${table === null ? '' : ` on ${table}`}`
}

function compare(root: string, migrated: Definition[], declared: Definition[]): void {
  const inFiles = new Map(declared.map((each) => [keyOf(each), each]))
  const inMigrations = new Map(migrated.map((each) => [keyOf(each), each]))
  const files = new Set(sqlFiles(root))
  const mistakes: string[] = []
  for (const [key, definition] of inMigrations) {
    const file = fileOf(definition)
    const what = titleOf(definition)
    if (!files.has(file) || !inFiles.has(key))
      mistakes.push(mistakeInMigrations(root, definition, `this ${what} is not in ${file}`))
    else if (inFiles.get(key)!.text !== definition.text)
      mistakes.push(
        placed(
          root,
          file,
          startOf(definition, readFileSync(join(root, file), 'utf8')) ?? 0,
          `the ${what} differs from the one that the migrations create`,
        ),
        mistakeInMigrations(root, definition, 'which is this one'),
      )
  }
  for (const [key, definition] of inFiles) {
    if (inMigrations.has(key)) continue
    const file = fileOf(definition)
    const what = titleOf(definition)
    const at = startOf(definition, readFileSync(join(root, file), 'utf8')) ?? 0
    mistakes.push(placed(root, file, at, `no migration creates the ${what}, or a later one drops it`))
  }
  if (mistakes.length > 0)
    throw new GenerateError(
      `${mistakes.join('\n')}\n` +
        '`npm run migrate -- --create NAME` writes a migration that makes both equal.',
    )
}

/** The message with the place where the last migration creates the function or trigger. */
function mistakeInMigrations(root: string, definition: Definition, message: string): string {
  const folder = join(root, 'prisma/migrations')
  const newest = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .reverse()
  for (const name of newest) {
    const at = startOf(definition, readFileSync(join(folder, name), 'utf8'))
    if (at !== undefined) return placed(root, `prisma/migrations/${name}`, at, message)
  }
  return message
}

/** The offset at which a text last creates the function or trigger, or renames one to it. */
function startOf({ kind, name }: Definition, text: string): number | undefined {
  const create = `CREATE (?:OR REPLACE )?(?:CONSTRAINT )?${kind}`
  const rename = `ALTER ${kind} .* RENAME TO`
  return [...text.matchAll(new RegExp(`(?:${create}|${rename}) "?${name}\\b`, 'gi'))].at(-1)?.index
}

function fileOf({ function: name }: Definition): string {
  return `${functionsFolder}/${name.replaceAll('_', '-')}.sql`
}
