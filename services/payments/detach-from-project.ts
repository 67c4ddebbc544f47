// What stands for money outlives its project: it is then its owner's alone, and subscriptions end. The database sees to that however a project is
// removed; here it is done in steps, where there is much of it.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

const most = 1_000
// In the order in which they are locked everywhere.
const tables = ['subscriptions', 'orders', 'checkouts']
const keep = tables.map((table) =>
  statement<{ n: number }>(`
  WITH kept AS (UPDATE ${table} SET project_id = NULL WHERE id = ANY(ARRAY(SELECT id FROM ${table} WHERE project_id = $1 LIMIT ${most})) RETURNING 1)
  SELECT count(*)::int AS n FROM kept`),
)

/** Lets go of some of what was paid in a project. @returns whether there may be more. */
export async function keepRecords(tx: Db, projectId: string): Promise<boolean> {
  for (const statement of keep) {
    const [{ n }] = await tx.sql(statement, [projectId])
    if (n === most) return true
  }
  return false
}
