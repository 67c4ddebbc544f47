// Reads PostgreSQL's catalogue for a backup: tables, sequences and foreign keys of the schema `public`.
import type pg from 'pg'

export interface Table {
  name: string
  /** Without generated columns, in their order. */
  columns: string[]
}

export interface SequenceValue {
  name: string
  last_value: string
  is_called: boolean
}

interface ForeignKey {
  table: string
  name: string
  definition: string
}

export async function listTables(client: pg.Client, except: string[]): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
     FROM pg_class c
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         AND NOT a.attisdropped AND a.attgenerated = ''
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relname <> ALL ($1)
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
     GROUP BY c.relname ORDER BY c.relname`,
    [except],
  )
  return rows
}

/** Sequences are not part of a snapshot: their values are at least those of the rows. */
export async function readSequences(client: pg.Client): Promise<SequenceValue[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1`,
  )
  const sequences: SequenceValue[] = []
  for (const { name } of rows) {
    const { rows: values } = await client.query<Omit<SequenceValue, 'name'>>(
      `SELECT last_value, is_called FROM ${quote(name)}`,
    )
    sequences.push({ name, ...values[0] })
  }
  return sequences
}

export async function setSequences(client: pg.Client, sequences: SequenceValue[]): Promise<void> {
  for (const { name, last_value, is_called } of sequences)
    await client.query('SELECT setval($1::regclass, $2, $3)', [quote(name), last_value, is_called])
}

/** Runs the work without foreign keys and triggers, in a transaction. Then checks all foreign keys. */
export async function withoutConstraints(
  client: pg.Client,
  tables: Table[],
  work: () => Promise<void>,
): Promise<void> {
  const keys = await listForeignKeys(client)
  for (const { table, name } of keys)
    await client.query(`ALTER TABLE ${quote(table)} DROP CONSTRAINT ${quote(name)}`)
  for (const { name } of tables) await client.query(`ALTER TABLE ${quote(name)} DISABLE TRIGGER USER`)
  await work()
  for (const { table, name, definition } of keys)
    await client.query(`ALTER TABLE ${quote(table)} ADD CONSTRAINT ${quote(name)} ${definition}`)
  for (const { name } of tables) await client.query(`ALTER TABLE ${quote(name)} ENABLE TRIGGER USER`)
}

async function listForeignKeys(client: pg.Client): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `SELECT c.relname AS table, k.conname AS name, pg_get_constraintdef(k.oid) AS definition
     FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
     WHERE k.contype = 'f' AND k.conparentid = 0 AND k.connamespace = 'public'::regnamespace ORDER BY k.oid`,
  )
  return rows
}

/** A table with its columns, as COPY FROM names it. */
export function columnsOf({ name, columns }: Table): string {
  return `${quote(name)} (${columns.map(quote).join(', ')})`
}

/** The rows of a table, as COPY TO names them. Before PostgreSQL 18 it reads no partitioned table by name. */
export function rowsOf({ name, columns }: Table): string {
  return `(SELECT ${columns.map(quote).join(', ')} FROM ${quote(name)})`
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
