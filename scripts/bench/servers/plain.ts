// A minimal Fastify server with pg, without keys, validation or logging. Its statements are equivalent to
// this project's, so the comparison shows the cost of everything else.
import Fastify from 'fastify'
import pg from 'pg'
import { newId, timeOf } from '../../../infra/ids.ts'

const columns = `p.id, p.name, p.description, p.status::text, p.category, p.owner_id, p.tags,
  p.member_count, p.metadata, p.version, p.created_at, p.updated_at, p.archived_at, p.deleted_at`
const get = `SELECT ${columns}, m.role::text AS your_role
  FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = $2 WHERE p.id = $1`
/** Without OFFSET for the first page: with it PostgreSQL would plan the query on every execution. */
const list = (offset: string): string => `SELECT t.total, x.* FROM (
    SELECT coalesce(sum(count), 0)::int AS total FROM project_counts
    WHERE user_id = $1 AND status <> 'deleted'
  ) t LEFT JOIN LATERAL (
    SELECT ${columns}, m.role::text AS your_role FROM (
      SELECT project_id, role FROM members m WHERE m.user_id = $1 AND m.project_status <> 'deleted'
      ORDER BY m.project_id DESC LIMIT 20 ${offset}
    ) m JOIN projects p ON p.id = m.project_id ORDER BY m.project_id DESC
  ) x ON true`
const firstPage = { name: 'first-page', text: list('') }
const laterPage = { name: 'later-page', text: list('OFFSET $2') }
const create = `WITH p AS (
    INSERT INTO projects (id, name, description, category, owner_id, tags, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) RETURNING *
  ), m AS (
    INSERT INTO members (id, project_id, user_id, role, created_at, updated_at)
    SELECT $9, p.id, p.owner_id, 'owner', $8, $8 FROM p
  )
  SELECT ${columns}, 'owner' AS your_role FROM p`

const { DATABASE_URL, READER_ID, WRITER_ID } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const app = Fastify()

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
  return { data, pagination: { page, limit: 20, total, total_pages: Math.ceil(total / 20) } }
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
  const { rows } = await pool.query({
    name: 'create',
    text: create,
    values: [id, name, description, category, WRITER_ID, tags, metadata, timeOf(id), newId('mem')],
  })
  reply.code(201).header('location', `/v1/projects/${id}`)
  return { ...rows[0], member_count: 1 }
})

await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`serving at http://127.0.0.1:${(app.server.address() as { port: number }).port}\n`)
