// How many rows a statement reads, by its plan.
import pg from 'pg'
import type { Statement } from '../../../infra/database/statements.ts'

export interface Call {
  statement: Statement<unknown>
  values: unknown[]
}

/** The statement and the values that a function of generated/sql would send. */
export async function captured(read: (db: unknown) => Promise<unknown>): Promise<Call> {
  let call: Call | undefined
  const send = async (statement: Statement<unknown>, values: unknown[]): Promise<never[]> => {
    call = { statement, values }
    return []
  }
  await read({ sql: send })
  return call!
}

/**
 * The rows of some tables that the generic plan of the statement reads from tables and indexes.
 * @param options `looks`: a look into an index that finds no row counts as a row.
 */
export async function rowsScanned(
  client: pg.Client,
  { statement: { text }, values }: Call,
  tables: RegExp,
  { looks = false } = {},
): Promise<number> {
  await client.query(`SET plan_cache_mode = force_generic_plan; PREPARE p AS ${text}`)
  const literals = values.map((value) => literalOf(value)).join(', ')
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE p(${literals})`)
  await client.query('DEALLOCATE p')
  let sum = 0
  const add = (node: any): void => {
    if (tables.test(node['Relation Name'] ?? '')) {
      const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
      sum += (looks ? Math.max(1, rows) : rows) * node['Actual Loops']
    }
    for (const inner of node.Plans ?? []) add(inner)
  }
  add(rows[0]['QUERY PLAN'][0].Plan)
  return Math.round(sum)
}

function literalOf(value: unknown): string {
  if (value === null) return 'NULL'
  if (Array.isArray(value)) return `ARRAY[${value.map(literalOf).join(', ')}]::text[]`
  return typeof value === 'string' ? pg.escapeLiteral(value) : String(value)
}

/** Adds projects of a user, whose ids are the prefix and a number from 1 on. */
export async function addProjects(
  client: pg.Client,
  { userId, prefix, count }: { userId: string; prefix: string; count: number },
): Promise<void> {
  await client.query(
    `WITH p AS (
      INSERT INTO projects (id, name, owner_id, updated_at)
      SELECT $2::text || n, 'Project', $1, now() FROM generate_series(1, ${count}) n RETURNING id
    )
    INSERT INTO members (id, project_id, user_id, role, updated_at)
    SELECT 'mem_' || id, id, $1, 'owner', now() FROM p`,
    [userId, prefix],
  )
}
