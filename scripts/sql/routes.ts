// `npm run sql -- --routes`: where Citus runs each statement of the hottest operations.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { compose, type List } from '../../infra/database/list.ts'
import { readBudgets } from '../bench/budgets.ts'
import type { Call } from './call-tree.ts'

/** `local`: on the coordinator. `refused`: Citus has no plan for it. */
export type Route = 'local' | 'one shard' | 'all shards' | 'refused'

export interface RoutedStatement {
  /** The file in prisma/sql. */
  file: string
  route: Route
  /** Why it is refused. */
  reason?: string
}

/** The operations with a budget, and the others that often read or write what is distributed. */
export function hotOperations(): string[] {
  const others = ['getUsage', 'listRequests', 'createDocument', 'listDocuments', 'deleteDocument']
  return [...Object.keys(readBudgets()), ...others]
}

/** The files of prisma/sql in a tree of calls. */
export function filesOf({ name, calls }: Call): string[] {
  return [...(name.startsWith('prisma/sql/') ? [name] : []), ...calls.flatMap(filesOf)]
}

interface StatementText {
  text: string
  /** The names of its numbered parameters. */
  names: string[]
}

/** Each statement in generated/sql, by its file; of a list the one without filters. */
export async function readStatements(root: string): Promise<Map<string, StatementText>> {
  const texts = new Map<string, StatementText>()
  const folder = join(root, 'generated/sql')
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
    for (const query of Object.values<unknown>(await import(join(folder, file)))) {
      const { label, text, names } = isList(query) ? firstPageOf(query) : await statementOf(query as Query)
      texts.set(`prisma/sql/${label}.sql`, { text, names })
    }
  }
  return texts
}

type Query = (db: unknown, parameters: object) => Promise<unknown>
type ListOf = { label: string; list: List }

function isList(query: unknown): query is ListOf {
  return Object.hasOwn(query as object, 'list')
}

function firstPageOf({ label, list }: ListOf): StatementText & { label: string } {
  const [sort] = Object.keys(list.sorts)
  const { statement, names } = compose(label, list, { filters: [], sort, order: 'desc', start: 'first' })
  return { label, text: statement.text, names }
}

/** Calls the function with a database that only notes the statement; the value of a parameter is its name. */
async function statementOf(query: Query): Promise<StatementText & { label: string }> {
  const parameters = new Proxy({}, { get: (_, name) => String(name) })
  return await new Promise((resolve, reject) => {
    const db = {
      sql: ({ label, text }: { label: string; text: string }, names: string[]): Promise<unknown[]> => {
        resolve({ label, text, names })
        return Promise.resolve([{}])
      },
    }
    query(db, parameters).catch(reject)
  })
}

/** Plans the statements on a distributed database, without running them. */
export async function routesOf(
  url: string,
  statements: Map<string, StatementText>,
  files: string[],
): Promise<RoutedStatement[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const routed: RoutedStatement[] = []
    for (const file of files) routed.push({ file, ...(await routeOf(client, statements.get(file)!)) })
    return routed
  } finally {
    await client.end()
  }
}

async function routeOf(
  client: pg.Client,
  { text, names }: StatementText,
): Promise<Omit<RoutedStatement, 'file'>> {
  await client.query('BEGIN')
  try {
    await client.query(`PREPARE routed AS ${text}`)
    const { rows: types } = await client.query<{ type: string }>(
      "SELECT unnest(parameter_types)::text AS type FROM pg_prepared_statements WHERE name = 'routed'",
    )
    const values = types.map(({ type }, i) => `${exampleOf(type, names[i])}::${type}`)
    const call = `routed${values.length === 0 ? '' : `(${values.join(', ')})`}`
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) EXECUTE ${call}`)
    return { route: routeOfPlan(rows.map((row) => row['QUERY PLAN']).join('\n')) }
  } catch (error) {
    return { route: 'refused', reason: (error as Error).message }
  } finally {
    await client.query('ROLLBACK')
    await client.query('DEALLOCATE ALL')
  }
}

/** A value of the type that the statement can be planned with. */
function exampleOf(type: string, name: string): string {
  if (type.endsWith('[]')) return "'{}'"
  if (/^(json|jsonb)$/.test(type)) return "'{}'"
  if (/^(smallint|integer|bigint|numeric|real|double precision)$/.test(type)) return '1'
  if (type === 'boolean') return 'true'
  if (type === 'bytea') return "''"
  if (/^(timestamp|date)/.test(type)) return "'2000-01-01'"
  if (type !== 'text') return `enum_first(NULL::${type})`
  if (name === 'condition') return "'$'"
  return /day|from|to$/.test(name) ? "'2000-01-01'" : "'simple'"
}

/** Rows that a statement inserts go to the shard of their key each. */
function routeOfPlan(plan: string): Route {
  if (!plan.includes('Custom Scan (Citus')) return 'local'
  const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count))
  return tasks.every((count) => count <= 1) ? 'one shard' : 'all shards'
}
