// The jobs in a backup: those that are not done, without what belongs to pg-boss's version of its tables.
import type { Readable } from 'node:stream'
import type pg from 'pg'
import { PgBoss } from 'pg-boss'
import { copyFromFile, copyToFile, type RowFile } from '../backup/copy.ts'
import { bossOptions } from './queue.ts'

interface JobCopy {
  id: string
  name: string
  priority: number
  group_id: string | null
  start_after: string
  data: object
}

const columns = 'id uuid, name text, priority int, group_id text, start_after timestamptz, data jsonb'
const pageSize = 500

/** A running job counts as not done: it runs again after a restore. */
export async function copyJobsToFile(client: pg.Client, path: string): Promise<RowFile> {
  const table = `${bossOptions.schema}.job`
  const { rows } = await client.query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [
    table,
  ])
  const source = rows[0].exists
    ? `(SELECT id, name, priority, group_id, start_after, data FROM ${table}
        WHERE state < 'completed' AND name NOT LIKE '\\_\\_%')`
    : '(SELECT WHERE false)'
  return await copyToFile(client, source, path)
}

/** Adds the jobs of a file to the queues, which must exist, in the transaction of the client. */
export async function copyJobsFromFile(client: pg.Client, file: Readable): Promise<void> {
  await client.query(`CREATE TEMP TABLE copied_jobs (${columns}) ON COMMIT DROP`)
  await copyFromFile(client, 'copied_jobs', file)
  await client.query('CREATE INDEX ON copied_jobs (name, id)')
  const boss = new PgBoss({
    ...bossOptions,
    db: { executeSql: async (text, values = []) => await client.query(text, values) },
    migrate: false,
    createSchema: false,
  })
  for (let last: JobCopy | undefined; ;) {
    const { rows } = await client.query<JobCopy>(
      `SELECT id, name, priority, group_id, data,
         to_char(start_after AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS start_after
       FROM copied_jobs WHERE $1::text IS NULL OR (name, id) > ($1, $2::uuid)
       ORDER BY name, id LIMIT ${pageSize}`,
      [last?.name, last?.id],
    )
    if (rows.length === 0) return
    for (const [name, jobs] of Map.groupBy(rows, (job) => job.name)) await boss.insert(name, jobs.map(toJob))
    last = rows.at(-1)
  }
}

function toJob({ id, data, priority, group_id, start_after }: JobCopy) {
  return {
    id,
    data,
    priority,
    ...(group_id !== null && { group: { id: group_id } }),
    startAfter: start_after,
  }
}
