// The building blocks of the functions in generated/sql: each runs one statement of prisma/sql, prepared on a
// connection of the pool or of the transaction. `label` names the statement's file in prisma/sql.
import type { SqlClient } from './database.ts'
import { statement, type Statement } from './statements.ts'

/** Nothing for a statement without parameters. */
type Arguments<Parameters> = keyof Parameters extends never ? [] : [parameters: Parameters]

type Query<Parameters, Result> = (db: SqlClient, ...parameters: Arguments<Parameters>) => Promise<Result>

interface QueryOptions {
  /** The best plan depends on the values, so the statement is not prepared. Default false. */
  searches?: boolean
  /** The statement has no effect, and may share a round trip with others. Default false. */
  reads?: boolean
  /** Parameters that may be lists and are sent as JSON. pg itself sends a list as an array of PostgreSQL. */
  json?: string[]
}

/** A statement that returns exactly one row. */
export function one<Parameters, Row>(
  label: string,
  text: string,
  names: string[] = [],
  options?: QueryOptions,
): Query<Parameters, Row> {
  const run = prepare<Row>(label, text, names, options)
  return async (db, parameters?: any) => {
    const [row] = await run(db, parameters)
    if (row === undefined) throw new Error(`the statement ${label} returned no row`)
    return row
  }
}

/** A statement that returns a row or none. */
export function optional<Parameters, Row>(
  label: string,
  text: string,
  names: string[] = [],
  options?: QueryOptions,
): Query<Parameters, Row | undefined> {
  const run = prepare<Row>(label, text, names, options)
  return async (db, parameters?: any) => (await run(db, parameters))[0]
}

export function many<Parameters, Row>(
  label: string,
  text: string,
  names: string[] = [],
  options?: QueryOptions,
): Query<Parameters, Row[]> {
  return prepare<Row>(label, text, names, options)
}

/** A statement without rows. */
export function none<Parameters>(
  label: string,
  text: string,
  names: string[] = [],
  options?: QueryOptions,
): Query<Parameters, void> {
  const run = prepare<unknown>(label, text, names, options)
  return async (db, parameters?: any) => {
    await run(db, parameters)
  }
}

function prepare<Row>(
  label: string,
  text: string,
  names: string[],
  { searches = false, reads = false, json = [] }: QueryOptions = {},
): (db: SqlClient, parameters?: any) => Promise<Row[]> {
  const prepared: Statement<Row> = { ...(searches ? { text } : statement<Row>(text)), label, reads }
  return (db, parameters) => db.sql(prepared, valuesOf(names, parameters, json))
}

/** The values in the order of the statement's numbered parameters. */
export function valuesOf(names: string[], parameters: object = {}, json: string[] = []): unknown[] {
  return names.map((name) => {
    const value = (parameters as Record<string, unknown>)[name]
    return json.includes(name) && Array.isArray(value) ? JSON.stringify(value) : value
  })
}
