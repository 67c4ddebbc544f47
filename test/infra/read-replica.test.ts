// Lists from a streaming replica: a user always reads what the user wrote, through any server, also while the
// replica is late, hangs or is gone.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { ReadReplica } from '../../infra/database/read-replica.ts'
import { WriteTimes } from '../../infra/database/write-times.ts'
import { createClient } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { execute, startReplicatedPostgres } from '../support/database/own-postgres.ts'
import { signalPostgres } from '../support/database/signal-postgres.ts'
import { startServerHere } from '../support/server/process.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const { primary, replica } = await startReplicatedPostgres(t)

const env = { DATABASE_READ_URL: replica.url, DATABASE_READ_MAX_LAG: '2' }

const onReplica = async (statement: string): Promise<unknown[]> =>
  await execute(replica.superuserUrl, statement)

const serves = ({ services }: TestServer, { id }: Person): boolean => services.readReplica!.serves(id)

const namesOf = async ({ client }: Person): Promise<string[]> =>
  (await client.get('/projects')).body.data.map((project: { name: string }) => project.name)

/** The answer of /readyz once it says this of the replica; answers are shared for a second. */
async function whenReplica({ client }: Person, result: 'ok' | 'unavailable'): Promise<unknown> {
  return await waitUntil(async () => {
    const { body } = await client.get('/readyz')
    return body.checks.read_replica === result && body
  }, `read_replica ${result}`)
}

t.test('operations with x-read-replica only read', async (t) => {
  const marked = Object.values<OperationInfo>(operations).filter(({ readReplica }) => readReplica)
  t.ok(marked.length >= 9)
  t.same([...new Set(marked.map(({ method }) => method))], ['GET'])
})

t.test('lists come from the replica, and each user reads what it wrote', async (t) => {
  const [one, other] = [
    await startServer(t, { databaseUrl: primary.url, env }),
    await startServer(t, { databaseUrl: primary.url, env }),
  ]
  const [writer, reader] = [await one.person(), await one.person()]
  await waitUntil(() => serves(one, writer) && serves(other, writer), 'the replica')

  t.test('what others write appears with the replica, and after a write of the user at once', async (t) => {
    const patient = { ...env, DATABASE_READ_MAX_LAG: '60' }
    const server = await startServer(t, { databaseUrl: primary.url, env: patient })
    const admin = await server.person({ role: 'admin' })
    const countUsers = async (): Promise<number> => (await admin.client.get('/users')).body.pagination.total
    await waitUntil(() => serves(server, admin), 'the replica')
    const before = await countUsers()
    await onReplica('SELECT pg_wal_replay_pause()')
    await server.person()
    t.equal(await countUsers(), before)
    await admin.client.post('/projects', { name: 'of the admin' })
    t.equal(await countUsers(), before + 1)
    await onReplica('SELECT pg_wal_replay_resume()')
  })

  t.test('a paused replica: the writer reads from the database, on each server', async (t) => {
    await onReplica('SELECT pg_wal_replay_pause()')
    for (const [i, server] of [one, other].entries()) {
      const there = { ...writer, client: createClient(server.url, writer.key) }
      await writer.client.post('/projects', { name: `paused ${i}` })
      t.match(await namesOf(there), [`paused ${i}`])
      t.notOk(serves(one, writer))
    }
    await onReplica('SELECT pg_wal_replay_resume()')
    await waitUntil(() => serves(one, writer) && serves(other, writer), 'the replica has the write')
    t.same(await namesOf(writer), ['paused 1', 'paused 0'])
  })

  t.test('an error of stale data is not answered', async (t) => {
    await onReplica('SELECT pg_wal_replay_pause()')
    const { body } = await writer.client.get('/events?order=desc')
    await writer.client.post('/projects', { name: 'later' })
    const { body: last } = await writer.client.get('/events?order=desc&limit=1')
    t.not(last.data[0].id, body.data[0].id)
    // The replica does not know this position of the log yet.
    const forward = await writer.client.get('/events?limit=100')
    const answer = await reader.client.get(`/events?cursor=${forward.body.next_cursor}`)
    t.equal(answer.status, 200)
    await onReplica('SELECT pg_wal_replay_resume()')
  })

  t.test('a late replica is not used, and the readiness names it', async (t) => {
    await waitUntil(() => serves(one, reader), 'the replica')
    await onReplica('SELECT pg_wal_replay_pause()')
    await writer.client.post('/projects', { name: 'late' })
    await waitUntil(() => !serves(one, reader), 'the lag')
    t.match(await whenReplica(reader, 'unavailable'), { status: 'degraded' })
    await onReplica('SELECT pg_wal_replay_resume()')
    await waitUntil(() => serves(one, reader), 'the replica')
    t.match(await whenReplica(reader, 'ok'), { status: 'ok' })
  })

  t.test(
    'after missed notifications, the replica must have everything from before the reconnect',
    async (t) => {
      let setListening = (_listening: boolean): void => {}
      const listener = {
        on() {},
        onState: (callback: (listening: boolean) => void) => {
          setListening = callback
        },
      }
      const own = new ReadReplica({
        database: one.services.database,
        listener,
        url: replica.url,
        poolSize: 1,
        maxLag: 60_000,
        onError: t.error,
      })
      t.teardown(() => own.close())
      const measuredServes = async (): Promise<boolean> => {
        await own.measure()
        return own.serves(writer.id)
      }
      await own.measure()
      t.notOk(own.serves(writer.id), 'it has not listened yet')
      setListening(true)
      await waitUntil(measuredServes, 'the replica')
      setListening(false)
      t.notOk(own.serves(writer.id), 'it does not listen')
      await onReplica('SELECT pg_wal_replay_pause()')
      await writer.client.post('/projects', { name: 'missed' })
      setListening(true)
      t.notOk(await measuredServes(), 'the replica does not have the write')
      await onReplica('SELECT pg_wal_replay_resume()')
      await waitUntil(measuredServes, 'the replica has the write')
    },
  )

  t.test('a replica that hangs, then is gone', async (t) => {
    signalPostgres(replica.pid, 'SIGSTOP')
    try {
      await waitUntil(() => !serves(one, reader), 'the replica is not used')
      t.equal((await reader.client.get('/projects')).status, 200)
    } finally {
      signalPostgres(replica.pid, 'SIGCONT')
    }
    await waitUntil(() => serves(one, reader), 'the replica')
    await replica.stop()
    for (let i = 0; i < 20; i++) t.equal((await reader.client.get('/projects')).status, 200)
    await waitUntil(() => !serves(one, reader), 'the replica is gone')
    t.match(await whenReplica(reader, 'unavailable'), { status: 'degraded' })
  })
})

t.test('a server starts without its replica', async (t) => {
  const { progress } = await startServerHere(t, { DATABASE_URL: primary.url, ...env })
  t.match(
    progress.join('\n'),
    /The replica at DATABASE_READ_URL is away .*; lists are read from the database/,
  )
})

t.test('DATABASE_READ_URL must lead to a replica of the same database', async (t) => {
  const { url } = await createTestDatabase(t)
  const wrong = await startServer(t, { databaseUrl: primary.url, env: { DATABASE_READ_URL: url } })
  await t.rejects(wrong.services.readReplica!.measure(), /another database than DATABASE_URL/)
  const itself = await startServer(t, { databaseUrl: url, env: { DATABASE_READ_URL: url } })
  await t.rejects(itself.services.readReplica!.measure(), /accepts writes/)
  await t.rejects(startServerHere(t, { DATABASE_URL: url, DATABASE_READ_URL: primary.url }), {
    message:
      /DATABASE_READ_URL leads to another database than DATABASE_URL: it must lead to a replica of it\.$/,
  })
})

t.test('what is forgotten counts as written', async (t) => {
  const times = new WriteTimes(2)
  const before = performance.now()
  t.notOk(times.wroteSince('a', before))
  for (const user of ['a', 'b', 'c']) times.note(user)
  t.ok(times.wroteSince('a', before))
  t.ok(times.wroteSince('unknown', before))
  times.forgetBefore(performance.now())
  t.notOk(times.wroteSince('c', performance.now()))
})
