// Reads the migrated database for docs/database.md: the tables of the schema `public`, their columns,
// indexes, constraints and triggers, and the functions. SQL is as PostgreSQL prints it, without the casts
// that it adds to literals.
import type pg from 'pg'

export interface Table {
  name: string
  columns: Column[]
  indexes: Definition[]
  /** Checks, and constraints of other kinds that are neither foreign keys nor backed by an index. */
  checks: Definition[]
  foreignKeys: ForeignKey[]
  triggers: Trigger[]
}

export interface Column {
  name: string
  type: string
  nullable: boolean
  default: string | null
}

export interface Definition {
  name: string
  sql: string
}

export interface ForeignKey {
  columns: string[]
  target: string
  /** The columns of `target`. */
  referenced: string[]
  /** `ON DELETE …`, and `ON UPDATE …` if the action is not CASCADE. */
  actions: string
}

export interface Trigger {
  name: string
  /** When it fires. */
  event: string
  function: string
  /** As SQL, separated by commas. */
  arguments: string
}

export interface DatabaseFunction {
  name: string
  /** Its parameters and what it returns. */
  signature: string
  isTrigger: boolean
}

export interface DatabaseCatalog {
  tables: Table[]
  functions: DatabaseFunction[]
  enums: Array<{ name: string; labels: string[] }>
}

/** The tables of Prisma, which no model describes. */
const ignoredTables = ['_prisma_migrations']

export async function readDatabaseCatalog(client: pg.Client): Promise<DatabaseCatalog> {
  const columns = await readColumns(client)
  const indexes = await readIndexes(client)
  const checks = await readChecks(client)
  const foreignKeys = await readForeignKeys(client)
  const triggers = await readTriggers(client)
  const names = [...new Set(columns.map(({ table }) => table))].filter(
    (name) => !ignoredTables.includes(name),
  )
  const ofTable = <T extends { table: string }>(rows: T[], name: string): T[] =>
    rows.filter(({ table }) => table === name)
  return {
    tables: names.map((name) => ({
      name,
      columns: ofTable(columns, name),
      indexes: ofTable(indexes, name),
      checks: ofTable(checks, name),
      foreignKeys: ofTable(foreignKeys, name),
      triggers: ofTable(triggers, name),
    })),
    functions: await readFunctions(client),
    enums: await readEnums(client),
  }
}

type OfTable<T> = T & { table: string }

async function readColumns(client: pg.Client): Promise<Array<OfTable<Column>>> {
  const { rows } = await client.query<OfTable<Column>>(`
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      NOT a.attnotnull AS nullable, pg_get_expr(d.adbin, d.adrelid, true) AS default
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum`)
  return rows.map((row) => ({
    ...row,
    type: row.type.replace(/^timestamp(\(\d\))? with time zone$/, 'timestamptz$1').replaceAll('"', ''),
    default: row.default === null ? null : withoutCasts(row.default),
  }))
}

/** The primary key first. */
async function readIndexes(client: pg.Client): Promise<Array<OfTable<Definition>>> {
  const { rows } = await client.query<OfTable<Definition> & { primary: boolean }>(`
    SELECT c.relname AS table, i.relname AS name, x.indisprimary AS primary,
      pg_get_indexdef(i.oid, 0, true) AS sql
    FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
    ORDER BY c.relname, x.indisprimary DESC, i.relname`)
  return rows.map(({ table, name, primary, sql }) => {
    const [, unique = '', rest] = /^CREATE (UNIQUE )?INDEX .*? USING (.*)$/s.exec(sql)!
    const method = rest.replace(/^btree /, '')
    return { table, name, sql: withoutCasts(primary ? `PRIMARY KEY ${method}` : `${unique}${method}`) }
  })
}

async function readChecks(client: pg.Client): Promise<Array<OfTable<Definition>>> {
  const { rows } = await client.query<OfTable<Definition>>(`
    SELECT c.relname AS table, k.conname AS name, pg_get_constraintdef(k.oid, true) AS sql
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
      AND k.contype NOT IN ('f', 'n', 'p', 't', 'u')
    ORDER BY c.relname, k.conname`)
  return rows.map((row) => ({ ...row, sql: withoutCasts(row.sql) }))
}

async function readForeignKeys(client: pg.Client): Promise<Array<OfTable<ForeignKey>>> {
  const columnsOf = (key: string, relation: string): string => `
    (SELECT array_agg(a.attname::text ORDER BY n.position)
     FROM unnest(k.${key}) WITH ORDINALITY AS n (number, position)
       JOIN pg_attribute a ON a.attrelid = k.${relation} AND a.attnum = n.number)`
  const { rows } = await client.query<OfTable<ForeignKey> & { definition: string }>(`
    SELECT c.relname AS table, t.relname AS target, pg_get_constraintdef(k.oid, true) AS definition,
      ${columnsOf('conkey', 'conrelid')} AS columns, ${columnsOf('confkey', 'confrelid')} AS referenced
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND k.contype = 'f'
    ORDER BY c.relname, k.conkey`)
  return rows.map(({ definition, ...row }) => {
    const { onUpdate = 'NO ACTION' } =
      /ON UPDATE (?<onUpdate>[A-Z ]+?)(?= ON|$)/.exec(definition)?.groups ?? {}
    const { onDelete = 'NO ACTION' } =
      /ON DELETE (?<onDelete>[A-Z ]+?)(?= ON|$)/.exec(definition)?.groups ?? {}
    const update = onUpdate === 'CASCADE' ? '' : ` ON UPDATE ${onUpdate}`
    return { ...row, actions: `ON DELETE ${onDelete}${update}` }
  })
}

async function readTriggers(client: pg.Client): Promise<Array<OfTable<Trigger>>> {
  const { rows } = await client.query<{ table: string; name: string; function: string; sql: string }>(`
    SELECT c.relname AS table, g.tgname AS name, p.proname AS function, pg_get_triggerdef(g.oid, true) AS sql
    FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND NOT g.tgisinternal
    ORDER BY c.relname, g.tgname`)
  return rows.map(({ sql, ...row }) => {
    const { event, rest, args } =
      /TRIGGER \S+ (?<event>.*?) ON \S+ (?<rest>.*?)EXECUTE FUNCTION [^(]*\((?<args>.*)\)$/s.exec(
        sql,
      )!.groups!
    const timing = rest
      .replace(/REFERENCING (?:(?:OLD|NEW) TABLE AS \w+ )+/, '')
      .replace('NOT DEFERRABLE ', '')
    return { ...row, event: withoutCasts(`${event} ${timing}`.trim()), arguments: args }
  })
}

async function readFunctions(client: pg.Client): Promise<DatabaseFunction[]> {
  const { rows } = await client.query<DatabaseFunction & { parameters: string; result: string }>(`
    SELECT p.proname AS name, p.prorettype = 'trigger'::regtype AS "isTrigger",
      pg_get_function_arguments(p.oid) AS parameters, pg_get_function_result(p.oid) AS result
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY p.proname`)
  return rows.map(({ parameters, result, ...row }) => ({
    ...row,
    signature: `${row.name}(${parameters}) RETURNS ${result}`,
  }))
}

async function readEnums(client: pg.Client): Promise<DatabaseCatalog['enums']> {
  const { rows } = await client.query<{ name: string; labels: string[] }>(`
    SELECT t.typname AS name, array_agg(l.enumlabel::text ORDER BY l.enumsortorder) AS labels
    FROM pg_type t JOIN pg_enum l ON l.enumtypid = t.oid
    WHERE t.typnamespace = 'public'::regnamespace
    GROUP BY t.typname ORDER BY t.typname`)
  return rows
}

/** Without the casts of literals, and on one line: `'a'::text` is `'a'`, and `'1'::bigint` is 1. */
function withoutCasts(sql: string): string {
  return sql
    .replace(/'(\d+)'::(?:bigint|integer|smallint)/g, '$1')
    .replace(/('(?:[^']|'')*')::(?:"\w+"|timestamp with time zone|character varying|\w+)(?:\[\])?/g, '$1')
    .replace(/\s+/g, ' ')
}
