// Fills databases with any number of users and projects. Written in SQL with the results of the triggers,
// because a million requests to the API would take too long.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openDatabase } from '../../infra/database/database.ts'
import { newId } from '../../infra/ids.ts'
import { ADMINISTRATOR, passwordFile } from '../../infra/postgres/cluster.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { insertUser } from '../../services/users/users.ts'
import { insertApiKey } from '../../services/users/api-keys.ts'
import { defaultScopes } from '../../services/users/scopes.ts'

export interface Person {
  id: string
  key: string
}

/** Creates a migrated database on the running PostgreSQL. @returns its URL. */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  await prepareDatabase(url.href)
  return url.href
}

/** Creates users with one API key each, with all scopes of their role. */
export async function addPeople(
  url: string,
  names: string[],
  { role = 'user' }: { role?: 'user' | 'admin' } = {},
): Promise<Person[]> {
  const database = openDatabase({ url, poolSize: 1 })
  try {
    return await database.transaction(async (tx) => {
      const people: Person[] = []
      for (const name of names) {
        const user = await insertUser(tx, {
          email: `${name}@example.com`,
          emailVerified: true,
          name,
          role,
        })
        const { key } = await insertApiKey(tx, 'test', {
          userId: user.id,
          name: 'bench',
          scopes: defaultScopes(role),
          projectIds: null,
          expiresAt: null,
        })
        people.push({ id: user.id, key })
      }
      return people
    })
  } finally {
    await database.close()
  }
}

/**
 * Creates projects for a user without projects, one millisecond apart. @returns the ids of the newest ones.
 */
export async function addProjects(
  url: string,
  dataDir: string,
  owner: Person,
  count: number,
): Promise<string[]> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    const first = Date.now() - count
    const rows = `(SELECT n, ${first} + n AS ms, to_timestamp((${first} + n) / 1000.0) AS at
      FROM generate_series(1::bigint, ${count}) n) r`
    const restore = [await dropIndexes(client, 'projects'), await dropIndexes(client, 'members')]
    await client.query(
      `
      INSERT INTO projects
        (id, name, description, category, owner_id, tags, member_count, metadata, created_at, updated_at)
      SELECT ${idOf('prj', newSuffix())}, 'Project ' || n, 'What project ' || n || ' is about', 'bench', $1,
        ARRAY['bench', 'q4'], 1, '{"team":"bench"}', at, at
      FROM ${rows}`,
      [owner.id],
    )
    await client.query(
      `
      INSERT INTO members (id, project_id, user_id, role, created_at, updated_at)
      SELECT 'mem' || substr(id, 4), id, owner_id, 'owner', created_at, updated_at
      FROM projects WHERE owner_id = $1 ORDER BY id`,
      [owner.id],
    )
    await client.query(
      "INSERT INTO project_count_totals (user_id, status, count) VALUES ($1, 'active', $2)",
      [owner.id, count],
    )
    for (const create of restore) await create()
    await client.query('VACUUM ANALYZE projects, members, project_count_totals')
    const { rows: newest } = await client.query<{ id: string }>(
      'SELECT id FROM projects WHERE owner_id = $1 ORDER BY id DESC LIMIT 1000',
      [owner.id],
    )
    return newest.map(({ id }) => id)
  } finally {
    await client.end()
  }
}

/** Creates file rows without blobs, one millisecond apart. */
export async function addFiles(url: string, dataDir: string, owner: Person, count: number): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    const first = Date.now() - count
    const restore = await dropIndexes(client, 'files')
    await client.query(
      `
      INSERT INTO files
        (id, owner_id, workspace_id, name, path, content_type, bytes, sha256, metadata, tags, blob_key,
        created_at, updated_at)
      SELECT id, $1, $1, 'name-' || n || '.png', 'folder/' || n % 100,
        CASE WHEN n % 100 = 0 THEN 'image/png' ELSE 'application/pdf' END, n,
        repeat('0', 64), '{"team":"bench"}', ARRAY['bench'], id, at, at
      FROM (SELECT ${idOf('file', newSuffix())} AS id, n, at
        FROM (SELECT n, ${first} + n AS ms, to_timestamp((${first} + n) / 1000.0) AS at
          FROM generate_series(1::bigint, ${count}) n) r) f`,
      [owner.id],
    )
    await restore()
    await client.query(
      `INSERT INTO storage_usage (workspace_id, files, bytes)
        SELECT workspace_id, count(*), sum(bytes) FROM files GROUP BY workspace_id
        ON CONFLICT (workspace_id) DO UPDATE SET files = excluded.files, bytes = excluded.bytes`,
    )
    await client.query('VACUUM ANALYZE files, storage_usage')
  } finally {
    await client.end()
  }
}

/**
 * Copies an event of a database `count` times, spread over the 30 days before now. One in a hundred has
 * its type, the others the type `project.updated`.
 */
export async function addEvents(url: string, dataDir: string, count: number): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    const month = 30 * 86_400_000
    const first = Date.now() - month
    const { rows } = await client.query<{ last: number }>('SELECT max(sequence)::int AS last FROM events')
    const [{ last }] = rows
    const restore = await dropIndexes(client, 'events')
    await client.query(
      `
      INSERT INTO events (id, sequence, type, project_id, user_id, scope, role, actor, data, created_at)
      SELECT ${idOf('evt', newSuffix())}, ${last} + n,
        CASE WHEN n % 100 = 0 THEN e.type ELSE 'project.updated' END, e.project_id, e.user_id,
        e.scope, e.role, e.actor, e.data, to_timestamp(ms / 1000.0)
      FROM (SELECT * FROM events LIMIT 1) e,
        (SELECT n, (${first} + n * ${month}::numeric / ${count})::bigint AS ms
          FROM generate_series(1::bigint, ${count}) n) r`,
    )
    await restore()
    await client.query('UPDATE event_log SET last_sequence = $1', [last + count])
    await client.query('VACUUM ANALYZE events')
  } finally {
    await client.end()
  }
}

/** Adds the user to `count` of the first `among` projects, evenly spread over the even or the odd ones. */
export async function addMemberships(
  url: string,
  dataDir: string,
  { id }: Person,
  { count, among, odd = false }: { count: number; among: number; odd?: boolean },
): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    await client.query(
      `INSERT INTO members (id, project_id, user_id, role, storage_role, ai_role, payments_role, updated_at)
      SELECT ${idOf('mem', newSuffix())}, id, $1, 'viewer', 'viewer', 'viewer', 'viewer', now()
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS ms FROM projects) p
      WHERE ms <= ${among} AND ms % 2 = ${odd ? 1 : 0} AND ms % ${Math.floor(among / count)} < 2`,
      [id],
    )
    await client.query(
      `INSERT INTO project_count_totals (user_id, status, count)
      SELECT user_id, 'active', count(*) FROM members WHERE user_id = $1 GROUP BY 1`,
      [id],
    )
  } finally {
    await client.end()
  }
}

/** Copies the only event of a database `count` times, in turns into every second of the first projects. */
export async function spreadEvents(
  url: string,
  dataDir: string,
  { count, among }: { count: number; among: number },
): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    await client.query(
      `CREATE TEMPORARY TABLE places AS SELECT n / 2 - 1 AS n, id
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM projects) p
      WHERE n <= ${among} AND n % 2 = 0`,
    )
    const month = 30 * 86_400_000
    await client.query(
      `INSERT INTO events (id, sequence, type, project_id, user_id, scope, role, actor, data, created_at)
      SELECT ${idOf('evt', newSuffix())}, r.n, e.type, p.id, e.user_id, e.scope, e.role, e.actor, e.data,
        to_timestamp(ms / 1000.0)
      FROM (SELECT * FROM events LIMIT 1) e CROSS JOIN (
        SELECT n, (${Date.now() - month} + n * ${month}::numeric / ${count})::bigint AS ms
        FROM generate_series(2::bigint, ${count}) n
      ) r JOIN places p ON p.n = (r.n * 7919) % ${among / 2}`,
    )
    await client.query('UPDATE event_log SET last_sequence = $1', [count])
  } finally {
    await client.end()
  }
}

/** Removes the statistics of tables, as in a database that was never analyzed. */
export async function clearStatistics(url: string, dataDir: string, tables: string): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  const names = `(SELECT oid FROM pg_class WHERE relname ~ '^(${tables})')`
  await client.query(`DELETE FROM pg_statistic WHERE starelid IN ${names}`)
  await client.query(
    `SELECT pg_clear_relation_stats('public', relname::text) FROM pg_class
    WHERE oid IN ${names} AND relkind IN ('r', 'p')`,
  )
  await client.end()
}

/** Adds a row that was created now. */
export async function insertRow(
  url: string,
  dataDir: string,
  table: string,
  row: Record<string, unknown>,
): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    const all = { created_at: new Date(), updated_at: new Date(), ...row }
    const places = Object.keys(all).map((_, i) => `$${i + 1}`)
    await client.query(
      `INSERT INTO ${table} (${Object.keys(all).join(', ')}) VALUES (${places.join(', ')})`,
      Object.values(all),
    )
  } finally {
    await client.end()
  }
}

/** The row `id` of a table, to be copied. */
export interface Copies {
  table: string
  id: string
  /** SQL of columns that must differ, by the number of the copy, `n`, and its time in milliseconds, `ms`. */
  set?: Record<string, string>
}

/**
 * Copies a row `count` times, one millisecond apart from `first` on. Copies have ids and times of their own.
 * Their names, and the texts and bytes of unique indexes, have the number of the copy.
 */
export async function copyRow(
  url: string,
  dataDir: string,
  { table, id, set = {} }: Copies,
  { count, first }: { count: number; first: number },
): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  try {
    const { rows } = await client.query<{ name: string; type: string; unique: boolean }>(
      `SELECT attname AS name, atttypid::regtype::text AS type,
         EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND attnum = ANY (indkey))
           AND NOT EXISTS (SELECT FROM pg_constraint
             WHERE contype = 'f' AND conrelid = attrelid AND attnum = ANY (conkey)) AS unique
       FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
      [table],
    )
    const valueOf = ({ name, type, unique }: { name: string; type: string; unique: boolean }): string => {
      if (name in set) return set[name]
      if (name === 'id') return idOf(id.split('_')[0])
      if (name === 'created_at' || name === 'updated_at') return 'to_timestamp(ms / 1000.0)'
      if (name === 'metadata') return `'{"team":"bench"}'`
      // Searches by a part of the name find some of the copies.
      if (name === 'name' || name === 'title') return `r.${name} || n`
      if (unique && type === 'text') return `n || r.${name}`
      if (unique && type === 'bytea') return `sha256(r.${name} || n::text::bytea)`
      return `r.${name}`
    }
    const restore = await dropIndexes(client, table)
    await client.query(
      `INSERT INTO ${table} (${rows.map(({ name }) => name).join(', ')})
       SELECT ${rows.map(valueOf).join(', ')}
       FROM ${table} r, (SELECT n, ${first} + n AS ms FROM generate_series(1::bigint, ${count}) n) c
       WHERE r.id = $1`,
      [id],
    )
    await restore()
    await client.query(`VACUUM ANALYZE ${table}`)
  } finally {
    await client.end()
  }
}

/** The size of a database with its indexes. */
export async function megabytesOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query('SELECT pg_database_size(current_database()) / 1e6 AS size')
    return Math.round(Number(rows[0].size))
  } finally {
    await client.end()
  }
}

/**
 * Drops the indexes of a table, except for those of constraints and unique ones: to fill a table and create
 * them afterwards takes a fraction of the time. @returns creates them again.
 */
async function dropIndexes(client: pg.Client, table: string): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index WHERE indrelid = $1::regclass AND NOT indisunique`,
    [table],
  )
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  return async () => {
    // Of a partitioned table: on all partitions.
    for (const { definition } of rows) await client.query(definition.replace(' ON ONLY ', ' ON '))
  }
}

/** Changes a setting of PostgreSQL, also for open connections, which need a moment. */
export async function changeSetting(client: pg.Client, name: string, value: string): Promise<void> {
  await client.query(`ALTER SYSTEM SET ${name} = ${value}`)
  await client.query('SELECT pg_reload_conf()')
  const current = 'SELECT setting FROM pg_settings WHERE name = $1'
  while ((await client.query(current, [name])).rows[0].setting !== value) await sleep(20)
}

/** Disables triggers and foreign keys in this session; their work is done once, at the end. */
export async function openAsAdministrator(url: string, dataDir: string): Promise<pg.Client> {
  const administrator = new URL(url)
  administrator.username = ADMINISTRATOR
  administrator.password = readFileSync(passwordFile(dataDir), 'utf8').trim()
  const client = new pg.Client({ connectionString: administrator.href })
  await client.connect()
  await client.query(
    "SET session_replication_role = replica; SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'",
  )
  return client
}

/** The random part of an id. */
const newSuffix = (): string => newId('usr').slice('usr_'.length + 10)

/** Copies of one number have the same time and suffix, so that they can refer to each other. */
const copySuffix = newSuffix()
/** Of further copies in the same table. */
export const otherSuffix = newSuffix()

/** SQL for a TypeID of the millisecond `ms`: ten characters of time and the suffix. */
export function idOf(prefix: string, suffix = copySuffix): string {
  const time = Array.from(
    { length: 10 },
    (_, i) => `substr('0123456789abcdefghjkmnpqrstvwxyz', ((ms >> ${45 - 5 * i}) & 31)::int + 1, 1)`,
  )
  return `'${prefix}_' || ${time.join(' || ')} || '${suffix}'`
}
