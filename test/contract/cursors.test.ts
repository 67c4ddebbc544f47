// A list that is read by its cursor while others write: every item that exists all along comes exactly once.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { newIdAt } from '../../infra/ids.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { pool } = server.services.database
const size = 10_000

/** Inserts sessions, many of which have the same time of update. */
async function insertSessions(owner: Person, ids: string[]): Promise<void> {
  await pool.query(
    `INSERT INTO ai_sessions (id, owner_id, workspace_id, title, created_at, updated_at)
     SELECT id, $2, $2, 'A session', now(), timestamptz '2026-01-01' + (n % 1000) * interval '1 millisecond'
     FROM unnest($1::text[]) WITH ORDINALITY AS given(id, n)`,
    [ids, owner.id],
  )
}

const idAt = (n: number): string => newIdAt('cs', new Date(Date.UTC(2026, 0, 1) + n * 1000))

for (const [sort, order] of [
  ['created_at', 'desc'],
  ['updated_at', 'asc'],
])
  t.test(`${size} items, sorted by ${sort} ${order}, while items are created and deleted`, async (t) => {
    const person = await server.person()
    const kept = Array.from({ length: size }, (_, n) => idAt(n))
    await insertSessions(person, kept)
    const seen: string[] = []
    const deleted = new Set<string>()
    let done = false
    const write = async (): Promise<number> => {
      for (let round = 0; ; round++) {
        if (done) return round
        await setTimeout(5)
        // Before, between and behind the items of the walk.
        await insertSessions(person, [idAt(-round - 1), idAt(Math.random() * size), idAt(size + round)])
        const victim = seen[Math.floor(Math.random() * seen.length)]
        if (victim !== undefined && !deleted.has(victim)) {
          await pool.query('DELETE FROM ai_sessions WHERE id = $1', [victim])
          deleted.add(victim)
        }
      }
    }
    const writer = write()
    try {
      let cursor: string | null = null
      for (let page = 1; page <= 2 * (size / 100) && (page === 1 || cursor !== null); page++) {
        const from = cursor === null ? 'page=1' : `cursor=${cursor}`
        const path = `/ai/sessions?sort=${sort}&order=${order}&limit=100&${from}`
        const { status, body } = await person.client.get(path)
        t.equal(status, 200)
        t.equal(body.pagination.page, page)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        cursor = body.pagination.next_cursor
      }
    } finally {
      done = true
    }
    const rounds = await writer
    t.ok(rounds > 10 && deleted.size > 10, `${rounds} inserts and ${deleted.size} deletions meanwhile`)
    const found = new Set(seen)
    t.equal(found.size, seen.length, 'no item comes twice')
    t.same(
      kept.filter((id) => !found.has(id)),
      [],
      'no item is missing',
    )
  })

t.test(
  'an item that is created meanwhile moves the pages, but not what a cursor continues with',
  async (t) => {
    const person = await server.person()
    const [third, second, first] = [idAt(1), idAt(2), idAt(3)]
    await insertSessions(person, [third, second, first])
    const read = async (query: string) => (await person.client.get(`/ai/sessions?limit=2&${query}`)).body
    const start = await read('page=1')
    await insertSessions(person, [idAt(4)])
    t.match(start.data, [{ id: first }, { id: second }])
    t.match((await read('page=2')).data, [{ id: second }, { id: third }], 'the second item again')
    const rest = await read(`cursor=${start.pagination.next_cursor}`)
    t.match(rest.data, [{ id: third }])
    t.match(rest.pagination, { page: 2, total: 4, total_pages: 2, next_cursor: null })
  },
)

t.test('a cursor of one project is rejected by another', async (t) => {
  const person = await server.person()
  const projects = []
  for (const name of ['One', 'Two']) projects.push((await person.client.post('/projects', { name })).body.id)
  for (const name of ['a', 'b']) await person.client.post('/ai/knowledge', { name, project_id: projects[0] })
  const path = (project: string): string => `/ai/knowledge?limit=1&project_id=${project}`
  const { next_cursor: cursor } = (await person.client.get(path(projects[0]))).body.pagination
  t.equal((await person.client.get(`${path(projects[0])}&cursor=${cursor}`)).status, 200)
  t.match(await person.client.get(`${path(projects[1])}&cursor=${cursor}`), {
    status: 400,
    body: { error: { details: { field: 'cursor', constraint: 'cursor' } } },
  })
})
