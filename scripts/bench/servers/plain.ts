// A minimal Fastify server with pg, without keys, validation or logging. It writes the same rows, with the
// event in the transaction of the write, and sends responses of the same size, headers included. So the
// comparison shows the cost of everything else.
import Fastify from 'fastify'
import pg from 'pg'
import { newId, timeOf } from '../../../infra/ids.ts'

const columns = `p.id, p.name, p.description, p.status::text, p.category, p.owner_id, p.organization_id,
  p.created_by, p.tags, p.member_count, p.metadata, p.version, p.created_at, p.updated_at, p.archived_at,
  p.deleted_at`
const get = `SELECT ${columns}, m.role::text AS your_role
  FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = $2 WHERE p.id = $1`
/**
 * Without OFFSET for the first page: with it PostgreSQL would plan the query on every execution. Each project
 * is looked up by its id; a join that is planned while there are few reads all of them later.
 */
const list = (offset: string): string => `SELECT t.total, x.* FROM (
    SELECT coalesce(sum(count), 0)::int AS total FROM project_counts
    WHERE user_id = $1 AND status <> 'deleted'
  ) t LEFT JOIN LATERAL (
    SELECT ${columns}, m.role::text AS your_role FROM (
      SELECT project_id, role FROM members m WHERE m.user_id = $1 AND m.project_status <> 'deleted'
      ORDER BY m.project_id DESC LIMIT 20 ${offset}
    ) m CROSS JOIN LATERAL (SELECT * FROM projects p WHERE p.id = m.project_id OFFSET 0) p
    ORDER BY m.project_id DESC
  ) x ON true`
const firstPage = { name: 'first-page', text: list('') }
const laterPage = { name: 'later-page', text: list('OFFSET $2') }
const create = `WITH p AS (
    INSERT INTO projects
      (id, name, description, category, owner_id, created_by, tags, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $8) RETURNING *
  ), m AS (
    INSERT INTO members (id, project_id, user_id, role, created_at)
    SELECT $9, p.id, p.owner_id, 'owner', $8 FROM p
  )
  SELECT ${columns}, 'owner' AS your_role FROM p`
const lock = `${get} FOR NO KEY UPDATE OF p`
const update = `UPDATE projects p SET name = $2, version = version + 1, updated_at = $3 WHERE id = $1
  RETURNING ${columns}`
const emit = `INSERT INTO events (id, type, project_id, scope, role, request_id, actor, data, created_at)
  VALUES ($1, $2, $3, 'projects:read', 'viewer', $4, $5, $6, $7)`

const { DATABASE_URL, READER_ID, WRITER_ID } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const app = Fastify({ keepAliveTimeout: 72_000 })

app.addHook('onSend', async (request, reply) => {
  const policy = request.method === 'GET' ? 'default' : 'write'
  const query = 'limit=20&sort=created_at&order=desc'
  const address = `http://127.0.0.1:${request.socket.localPort}/v1/projects?${query}`
  reply.headers({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': 'req_a84eaa4eae1b42799e3d0c6e06d739f3',
    ratelimit: `"${policy}";r=999999999;t=60`,
    'ratelimit-policy': `"${policy}";q=1000000000;w=60`,
  })
  if (request.url === '/v1/projects' && request.method === 'GET')
    reply.header(
      'link',
      `<${address}&page=1>; rel="first", <${address}&page=2>; rel="next", <${address}&page=50>; rel="last"`,
    )
  else reply.header('etag', '"5o2ftr2Tz-Qp6Psa5iD5pitK12Q"')
})

app.get('/v1/projects/:id', async (request, reply) => {
  const { id } = request.params as { id: string }
  const { rows } = await pool.query({ name: 'get', text: get, values: [id, READER_ID] })
  return rows[0] ?? reply.code(404).send({ error: 'not found' })
})

app.get('/v1/projects', async (request) => {
  const page = Number((request.query as { page?: string }).page ?? 1)
  const { rows } = await pool.query(
    page === 1
      ? { ...firstPage, values: [READER_ID] }
      : { ...laterPage, values: [READER_ID, (page - 1) * 20] },
  )
  const total = rows[0].total as number
  const data = rows.map(({ total: _total, ...project }) => project)
  // A cursor of the usual length: the comparison reads only the first page.
  const next_cursor = 'WzEsIjdmYTRNcEdLblVRVkFqWUsiLDIsInByal8wMW04NGtzZzQ4ZWg1OXlqZmE2OTBjODJzcyJd'
  const has_more = page * 20 < total
  return {
    data,
    pagination: { page, limit: 20, total, total_pages: Math.ceil(total / 20), next_cursor, has_more },
  }
})

app.post('/v1/projects', async (request, reply) => {
  const {
    name,
    description = null,
    category = null,
    tags = [],
    metadata = {},
  } = request.body as Record<string, any>
  const id = newId('prj')
  const made = await transaction(async (client) => {
    const { rows } = await client.query({
      name: 'create',
      text: create,
      values: [id, name, description, category, WRITER_ID, tags, metadata, timeOf(id), newId('mem')],
    })
    const project = { ...rows[0], member_count: 1 }
    await insertEvent(client, { type: 'project.created', userId: WRITER_ID!, project, previous: {} })
    return project
  })
  reply.code(201).header('location', `http://127.0.0.1:${request.socket.localPort}/v1/projects/${id}`)
  return made
})

app.put('/v1/projects/:id', async (request) => {
  const { id } = request.params as { id: string }
  const { name } = request.body as { name: string }
  return await transaction(async (client) => {
    const { rows } = await client.query({ name: 'lock', text: lock, values: [id, READER_ID] })
    const { your_role, ...before } = rows[0]
    const { rows: updated } = await client.query({
      name: 'update',
      text: update,
      values: [id, name, new Date()],
    })
    const previous = { name: before.name, version: before.version, updated_at: before.updated_at }
    await insertEvent(client, { type: 'project.updated', userId: READER_ID!, project: updated[0], previous })
    return { ...updated[0], your_role }
  })
})

await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`serving at http://127.0.0.1:${(app.server.address() as { port: number }).port}\n`)

async function transaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

interface NewEvent {
  type: string
  userId: string
  project: { id: string; your_role?: string }
  previous: object
}

async function insertEvent(
  client: pg.PoolClient,
  { type, userId, project, previous }: NewEvent,
): Promise<void> {
  const id = newId('evt')
  const { your_role: _role, ...object } = project
  const actor = { id: 'key_01m84k6n11fvgsq2hcjqhq0r57', name: 'bench', type: 'api_key', user_id: userId }
  await client.query({
    name: 'emit',
    text: emit,
    values: [
      id,
      type,
      project.id,
      'req_a84eaa4eae1b42799e3d0c6e06d739f3',
      actor,
      { object, previous_attributes: previous },
      timeOf(id),
    ],
  })
}
