// Reads the catalogue of the migrated database for the generator.
import type pg from 'pg'

export interface Catalog {
  /** The columns of each table, in order. */
  tables: Map<string, TableColumn[]>
  /** The TypeScript type of a value of each SQL type, as a row returns it, by OID. */
  types: Map<number, ColumnType>
  /** The functions of the database that may write. */
  volatile: Set<string>
}

export interface TableColumn {
  name: string
  notNull: boolean
  /** An INSERT must give it a value: it is NOT NULL and has no default. */
  required: boolean
}

export interface ColumnType {
  name: string
  /** The type of a value in a row; null if rows cannot contain it usefully. */
  row: string | null
  /** The type of a parameter. */
  parameter: string
}

/** By the name of the SQL type: what `types` of infra/database/pool.ts and `pg` convert it to, and accept. */
const scalars: Record<string, { row: string; parameter?: string }> = {
  text: { row: 'string' },
  varchar: { row: 'string' },
  bpchar: { row: 'string' },
  name: { row: 'string' },
  uuid: { row: 'string' },
  regconfig: { row: 'string' },
  regclass: { row: 'string' },
  xid8: { row: 'string' },
  numeric: { row: 'string', parameter: 'number | string' },
  int2: { row: 'number' },
  int4: { row: 'number' },
  int8: { row: 'number' },
  oid: { row: 'number' },
  float4: { row: 'number' },
  float8: { row: 'number' },
  bool: { row: 'boolean' },
  // YYYY-MM-DD.
  date: { row: 'string' },
  // RFC 3339 in UTC.
  timestamptz: { row: 'string', parameter: 'Date | string' },
  bytea: { row: 'Buffer' },
  json: { row: 'unknown', parameter: 'object | string' },
  jsonb: { row: 'unknown', parameter: 'object | string' },
  interval: { row: 'unknown', parameter: 'string' },
  void: { row: 'unknown' },
  record: { row: 'unknown' },
}

export async function readCatalog(client: pg.Client): Promise<Catalog> {
  const columns = await client.query<{ table: string; name: string; not_null: boolean; required: boolean }>(`
    SELECT c.relname AS table, a.attname AS name, a.attnotnull AS not_null,
      a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS required
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p', 'v', 'm')
      AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum`)
  const tables = new Map<string, TableColumn[]>()
  for (const { table, name, not_null: notNull, required } of columns.rows)
    tables.set(table, [...(tables.get(table) ?? []), { name, notNull, required }])

  const found = await client.query<{
    oid: number
    name: string
    element: string | null
    labels: string[] | null
  }>(`
    SELECT t.oid::int, t.typname AS name, e.typname AS element,
      (SELECT array_agg(l.enumlabel::text ORDER BY l.enumsortorder) FROM pg_enum l
       WHERE l.enumtypid IN (t.oid, e.oid)) AS labels
    FROM pg_type t LEFT JOIN pg_type e ON e.typarray = t.oid`)
  const types = new Map<number, ColumnType>()
  for (const { oid, name, element, labels } of found.rows) {
    const scalar =
      labels === null ? scalars[element ?? name] : { row: labels.map((label) => `'${label}'`).join(' | ') }
    if (scalar === undefined) types.set(oid, { name, row: null, parameter: 'string' })
    else if (element === null)
      types.set(oid, { name, row: scalar.row, parameter: scalar.parameter ?? scalar.row })
    else
      types.set(oid, {
        name: `${element}[]`,
        // pg does not parse arrays of enums.
        row: labels === null ? arrayOf(element === 'timestamptz' ? 'Date' : scalar.row) : null,
        parameter: `readonly ${arrayOf(scalar.parameter ?? scalar.row)}`,
      })
  }
  const functions = await client.query<{ name: string }>(`
    SELECT proname AS name FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND provolatile = 'v'`)
  return { tables, types, volatile: new Set(functions.rows.map(({ name }) => name)) }
}

function arrayOf(type: string): string {
  return type.includes(' ') ? `(${type})[]` : `${type}[]`
}
