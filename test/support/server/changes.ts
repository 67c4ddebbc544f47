// Counts the rows that are inserted, updated and deleted, to show that a request changes nothing.
import pg from 'pg'
import type { Test } from 'tap'
import type { TestServer } from './server.ts'
import { waitUntil } from './wait.ts'

/**
 * The number of recorded changes by table, or by partition of a partitioned table. A TRUNCATE counts as one.
 * Without `storage_reservations`: a request reserves bytes before it knows that it is rejected, and frees
 * them.
 */
export type Changes = Record<string, number>

/** Columns that are written in the background, some time after the request that caused it. */
const backgroundColumns = [
  'last_used_at',
  'last_used_ip',
  'download_count',
  'sequence',
  'last_sequence',
  'delivered_sequence',
  'partial_sequence',
  'partial_endpoint_id',
]
/** The lease of a resumable upload, which a rejected request takes and gives back. */
const leaseColumns = ['holder', 'held_until', 'lease_requested_at', 'temp_name']
/** A change of these columns alone is not counted. */
const ignoredColumns = [...backgroundColumns, ...leaseColumns]

/** Waits until all committed events have their numbers and deliveries. */
export async function whenDelivered(client: Pick<pg.Client, 'query'>): Promise<void> {
  const text = `SELECT NOT EXISTS (SELECT FROM events WHERE sequence IS NULL) AND
    (SELECT delivered_sequence = last_sequence FROM event_log) AS done`
  await waitUntil(
    async () => (await client.query({ name: 'delivered', text })).rows[0].done,
    'the deliveries',
  )
}

/**
 * Installs triggers that record changes in the server's database.
 * @returns a function that counts the changes since then; those of a transaction that was rolled back do not
 * count.
 */
export async function recordChanges(
  t: Pick<Test, 'teardown'>,
  { databaseUrl }: TestServer,
): Promise<() => Promise<Changes>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`
    CREATE SCHEMA test;
    CREATE TABLE test.changes (name text NOT NULL);
    CREATE FUNCTION test.record_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO test.changes VALUES (TG_TABLE_NAME);
        RETURN NULL;
      END
    $$`)
  const distributed = await distributedTables(client)
  const { rows } = await client.query<{ name: string; ignored: string[] }>(
    `SELECT c.oid::regclass::text AS name,
      coalesce(array_agg(a.attname::text) FILTER (WHERE a.attname = ANY ($1)), '{}') AS ignored
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND n.nspname = 'public' AND c.relname <> 'storage_reservations' AND c.oid <> ALL ($2::oid[])
    GROUP BY c.oid`,
    [ignoredColumns, distributed],
  )
  await client.query(rows.map(triggersOn).join(';'))
  const counts = new Map<string, number>()
  // The rows are removed as they are counted: the table would grow, and a test counts hundreds of times.
  const text = `WITH counted AS (DELETE FROM test.changes RETURNING name)
    SELECT name, count(*)::int AS count FROM counted GROUP BY name`
  return async () => {
    await whenDelivered(client)
    const { rows } = await client.query<{ name: string; count: number }>({ name: 'changes', text })
    for (const { name, count } of rows) counts.set(name, (counts.get(name) ?? 0) + count)
    return Object.fromEntries([...counts].sort(([a], [b]) => a.localeCompare(b)))
  }
}

/** The tables of Citus, which refuses triggers on them. */
async function distributedTables(client: pg.Client): Promise<number[]> {
  const { rows: citus } = await client.query("SELECT FROM pg_extension WHERE extname = 'citus'")
  if (citus.length === 0) return []
  const { rows } = await client.query<{ id: number }>('SELECT logicalrelid::oid AS id FROM pg_dist_partition')
  return rows.map(({ id }) => id)
}

function triggersOn({ name, ignored }: { name: string; ignored: string[] }): string {
  const columns = `'{${ignored.join()}}'::text[]`
  const row = (which: 'OLD' | 'NEW'): string => `(to_jsonb(${which}) - ${columns})`
  const record = 'EXECUTE FUNCTION test.record_change()'
  return `
    CREATE TRIGGER test_rows AFTER INSERT OR DELETE ON ${name} FOR EACH ROW ${record};
    CREATE TRIGGER test_updates AFTER UPDATE ON ${name} FOR EACH ROW
      WHEN (${row('OLD')} IS DISTINCT FROM ${row('NEW')}) ${record};
    CREATE TRIGGER test_truncate AFTER TRUNCATE ON ${name} FOR EACH STATEMENT ${record}`
}
