// Counters of a user as changes that a job adds up: writers do not wait for each other, a quota is never
// exceeded, and every reader sees the same sum before and after the changes were added up.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { countTasks } from '../../services/deletion/retention-tasks.ts'
import { runRetention } from '../support/database/retention.ts'
import { startServer, type Person } from '../support/server/server.ts'

const settings = statement<{ places: number }>("SELECT current_setting('max_connections')::int AS places")
const setUsed = statement(`
  INSERT INTO quota_totals (user_id, quota, used) VALUES ($1, 'sessions', $2)`)
const countChanges = statement<{ n: number }>('SELECT count(*)::int AS n FROM quota_changes')

async function usedBy({ client }: Person, name: string): Promise<number> {
  const { limits } = (await client.get('/user/limits')).body
  return limits.find((limit: { name: string }) => limit.name === name).used
}

t.test('32 writers end exactly at the limit, from far below it, while changes are added up', async (t) => {
  const server = await startServer(t, { env: { QUOTA_SESSIONS: '10000', DATABASE_POOL_SIZE: '20' } })
  const { database } = server.services
  const person = await server.person()
  const [{ places }] = await database.sql(settings, [])
  const free = 2 * places + 60
  await database.sql(setUsed, [person.id, 10_000 - free])
  const statuses: Record<number, number> = {}
  let adding = true
  const adder = (async () => {
    while (adding) await runRetention(database, { tasks: countTasks() })
  })()
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (let refused = 0; refused < 2;) {
        const { status, body } = await person.client.post('/ai/sessions', {})
        statuses[status] = (statuses[status] ?? 0) + 1
        if (status === 403) t.equal(body.error.details.constraint, 'sessions')
        if (status !== 201) refused++
      }
    }),
  )
  adding = false
  await adder
  t.same(statuses, { 201: free, 403: 64 })
  t.equal(await usedBy(person, 'sessions'), 10_000)
  t.equal(await database.prisma.session.count({ where: { ownerId: person.id } }), free)
})

t.test('a total is the same before and after the changes were added up', async (t) => {
  const server = await startServer(t)
  const { database } = server.services
  const person = await server.person()
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await person.client.post('/projects', { name: 'x' })).body.id)
  await person.client.delete(`/projects/${ids[0]}`)
  await person.client.post(`/projects/${ids[1]}/archive`)
  const totals = async (): Promise<unknown> => ({
    all: (await person.client.get('/projects')).body.pagination.total,
    archived: (await person.client.get('/projects?status=archived')).body.pagination.total,
    used: await usedBy(person, 'projects'),
  })
  const before = await totals()
  t.match(before, { all: 4, archived: 1 })
  t.not((await database.sql(countChanges, []))[0].n, 0)
  await runRetention(database, { tasks: countTasks() })
  t.equal((await database.sql(countChanges, []))[0].n, 0)
  t.same(await totals(), before)
})

t.test(
  'a second writer does not wait for the transaction of the first, and counts neither twice',
  async (t) => {
    const server = await startServer(t, { env: { QUOTA_SESSIONS: '100000' } })
    const { database } = server.services
    const person = await server.person()
    await database.transaction(async (tx) => {
      await tx.sql(statement("SELECT change_quota('sessions', $1, 1, true)"), [person.id])
      t.equal((await person.client.post('/ai/sessions', {})).status, 201)
    })
    t.equal(await usedBy(person, 'sessions'), 2)
  },
)
