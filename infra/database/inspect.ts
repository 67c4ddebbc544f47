// Reads the version and the clock of a database and the rights of the role, for the operator. Read-only.
import type pg from 'pg'
import { openConnection } from './client.ts'

export interface DatabaseFacts {
  version: string
  versionNumber: number
  role: string
  /** Milliseconds by which this machine's clock is ahead of the database's. */
  clockDifference: number
  /** Rights that the role lacks, such as `UPDATE on users`; empty for a database without tables. */
  missingRights: string[]
  /** Whether the role may create tables, which migrations need. */
  mayCreate: boolean
  /** The id of the key that encrypts the secrets in the database; null if there is none. */
  secretKeyId: string | null
}

const rights = `
  SELECT c.relname AS name, p.privilege
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(privilege)
  WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND NOT (c.relname = '_prisma_migrations' AND p.privilege <> 'SELECT')
    AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, p.privilege))
  ORDER BY 1, 2`

export async function inspectDatabase(url: string): Promise<DatabaseFacts> {
  const client = await openConnection({ url, name: 'platform doctor', queryTimeout: 10_000 })
  try {
    const sent = Date.now()
    const { rows } = await client.query<{ now: string; role: string; version: string; number: number }>(
      `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS now, current_user AS role,
         split_part(current_setting('server_version'), ' ', 1) AS version,
         current_setting('server_version_num')::int AS number`,
    )
    const [{ now, role, version, number }] = rows
    const clockDifference = Math.round((sent + Date.now()) / 2 - Number(now))
    const missing = await client.query<{ name: string; privilege: string }>(rights)
    return {
      version,
      versionNumber: number,
      role,
      clockDifference,
      missingRights: missing.rows.map(({ name, privilege }) => `${privilege} on ${name}`),
      mayCreate: await mayCreate(client),
      secretKeyId: await readSecretKeyId(client),
    }
  } finally {
    await client.end().catch(() => {})
  }
}

async function mayCreate(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean | null }>(
    `SELECT has_schema_privilege(to_regnamespace('public'), 'CREATE') AS may`,
  )
  return rows[0].may === true
}

async function readSecretKeyId(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ exists: boolean }>(
    `SELECT to_regclass('public.secret_keys') IS NOT NULL AS exists`,
  )
  if (!rows[0].exists) return null
  const found = await client.query<{ key_id: string }>('SELECT key_id FROM public.secret_keys')
  return found.rows[0]?.key_id ?? null
}
