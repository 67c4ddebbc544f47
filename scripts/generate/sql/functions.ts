// Holds the functions and triggers of the migrated database against prisma/sql/functions, which shows what
// all migrations together result in.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { sqlFiles, SqlMistake } from './source.ts'

export const functionsFolder = 'prisma/sql/functions'

/** @throws SqlMistake for a function or trigger that differs, or that only one of both has. */
export async function requireFunctions(client: pg.Client, root: string): Promise<void> {
  const files = sqlFiles(root).filter((file) => file.startsWith(`${functionsFolder}/`))
  const migrated = await definitions(client)
  // Loads pg_trgm: only then may a function set its parameters.
  await client.query("SELECT similarity('', '')")
  await client.query('BEGIN')
  try {
    for (const { name, table } of migrated.filter(({ kind }) => kind === 'trigger'))
      await client.query(`DROP TRIGGER ${name} ON ${table}`)
    for (const file of files) await create(client, root, file)
    compare(root, migrated, await definitions(client), files)
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
  /** The statement that creates it, without line breaks. */
  text: string
}

async function definitions(client: pg.Client): Promise<Definition[]> {
  const { rows } = await client.query<Definition>(`
    SELECT 'function' AS kind, p.proname AS name, NULL AS table, p.proname AS function,
      pg_get_functiondef(p.oid) AS text
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT 'trigger', g.tgname, g.tgrelid::regclass::text, p.proname, pg_get_triggerdef(g.oid)
    FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE NOT g.tgisinternal AND p.pronamespace = 'public'::regnamespace`)
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

function compare(root: string, migrated: Definition[], declared: Definition[], files: string[]): void {
  const key = ({ kind, name, table }: Definition): string =>
    `${kind} ${name}${table === null ? '' : ` on ${table}`}`
  const inFiles = new Map(declared.map((each) => [key(each), each]))
  const inMigrations = new Map(migrated.map((each) => [key(each), each]))
  for (const [what, { function: name, text }] of inMigrations) {
    const file = fileOf(name)
    if (!existsSync(join(root, file)) || !inFiles.has(what))
      throw new SqlMistake(files[0], 0, `the migrations create the ${what}, and ${file} does not`)
    if (inFiles.get(what)!.text !== text)
      throw new SqlMistake(file, 0, `the ${what} differs from the one that the migrations create`)
  }
  for (const [what, { function: name }] of inFiles)
    if (!inMigrations.has(what)) throw new SqlMistake(fileOf(name), 0, `no migration creates the ${what}`)
}

function fileOf(name: string): string {
  return `${functionsFolder}/${name.replaceAll('_', '-')}.sql`
}
