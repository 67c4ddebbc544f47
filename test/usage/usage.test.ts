// GET /usage: the totals of each day, their writers at the same time, and outages of the database.
import t from 'tap'
import type { Db } from '../../infra/database/database.ts'
import { unavailable } from '../../infra/errors.ts'
import { newId, newIdAt, newRequestId } from '../../infra/ids.ts'
import { runRetention } from '../support/database/retention.ts'
import { usageRetentionTasks } from '../../services/usage/usage.ts'
import { RequestRecorder, type RecorderOptions } from '../../services/usage/recorder.ts'
import { createDatabaseProxy } from '../support/database/database-proxy.ts'
import { createFile, requestOf } from '../support/database/db-fixtures.ts'
import { sharedDataOf } from '../support/operations/operation-fixtures.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { database, requestRecorder } = server.services
const { prisma } = database

const dayOf = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)

async function usageOf({ client }: Pick<Person, 'client'>, days = 30): Promise<any[]> {
  await requestRecorder.flush()
  return (await client.get(`/usage?days=${days}`)).body.days
}

const none = {
  requests: 0,
  errors: 0,
  storage_bytes: 0,
  downloaded_bytes: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
}

/** A recorder without a timer: it writes when a test calls `flush()`. */
function recorderOn(db: Db, options: RecorderOptions = {}): RequestRecorder {
  return new RequestRecorder(db, { interval: 2 ** 31 - 1, ...options })
}

t.test('today has the requests, errors, files, downloads and tokens of the user', async (t) => {
  const person = await server.person()
  const fileId = await createFile(server, person.id, { content: 'twelve bytes' })
  await person.client.get(`/storage/files/${fileId}/download`)
  await person.client.get(`/storage/files/${fileId}/download`, { headers: { range: 'bytes=0-2' } })
  await person.client.get(`/projects/${newId('prj')}`)
  await prisma.aiUsage.createMany({
    data: [newId('key'), newId('key')].map((apiKeyId) => ({
      userId: person.id,
      apiKeyId,
      day: new Date(dayOf(0)),
      promptTokens: 20,
      completionTokens: 3,
    })),
  })
  const days = await usageOf(person, 1)
  t.strictSame(days, [
    {
      day: dayOf(0),
      requests: 3,
      errors: 1,
      storage_bytes: 12,
      downloaded_bytes: 15,
      prompt_tokens: 40,
      completion_tokens: 6,
    },
  ])
  const other = await server.person()
  t.strictSame(await usageOf(other, 1), [{ ...none, day: dayOf(0) }])
})

t.test('every day has an entry: zeros, and the storage of the day before', async (t) => {
  const person = await server.person()
  const at = (daysAgo: number, requests: number, storageBytes: number) => ({
    userId: person.id,
    day: new Date(dayOf(daysAgo)),
    requests,
    errors: 1,
    storageBytes,
  })
  await prisma.usageDay.createMany({ data: [at(5, 9, 700), at(2, 8, 900)] })
  const days = await usageOf(person, 5)
  t.strictSame(
    days.map(({ day, requests, errors, storage_bytes: bytes }) => [day, requests, errors, bytes]),
    [
      [dayOf(4), 0, 0, 700],
      [dayOf(3), 0, 0, 700],
      [dayOf(2), 8, 1, 900],
      [dayOf(1), 0, 0, 900],
      [dayOf(0), 0, 0, 0],
    ],
  )
  t.equal((await usageOf(person, 90)).length, 90)
  t.equal((await person.client.get('/usage')).body.days.length, 30)
  for (const count of ['0', '91', '1.5', 'x'])
    t.equal((await person.client.get(`/usage?days=${count}`)).status, 400)
})

t.test('the last hours have the requests of the log by the class of their status', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const now = Date.now()
  const hourOf = (hoursAgo: number): Date => new Date((Math.floor(now / 3_600_000) - hoursAgo) * 3_600_000)
  const request = (hoursAgo: number, status: number, requests: number, { id } = person) => ({
    id: newIdAt('arq', hourOf(hoursAgo)),
    createdAt: hourOf(hoursAgo),
    userId: id,
    keyId: newId('key'),
    operation: 'getUser',
    method: 'GET',
    status,
    durationMs: 1,
    requests,
    requestId: newRequestId(),
  })
  await prisma.apiRequest.createMany({
    data: [
      request(3, 200, 7),
      request(2, 200, 5),
      request(2, 404, 2),
      request(1, 503, 1),
      request(1, 499, 1),
      request(0, 204, 1),
      request(1, 500, 9, other),
    ],
  })
  const hoursOf = async (query: string): Promise<any[]> =>
    (await person.client.get(`/usage${query}`)).body.hours
  const at = (hoursAgo: number, requests: number, client: number, server: number) => ({
    hour: hourOf(hoursAgo).toISOString(),
    requests,
    client_errors: client,
    server_errors: server,
  })
  const hours = await hoursOf('?hours=5')
  // One more where the hour has ended meanwhile.
  const first = hours.findIndex(({ hour }) => hour === hourOf(3).toISOString())
  t.strictSame(hours.slice(first, first + 4), [
    at(3, 7, 0, 0),
    at(2, 7, 2, 0),
    at(1, 2, 1, 1),
    at(0, 1, 0, 0),
  ])
  t.strictSame(await hoursOf(''), [])
  t.equal((await hoursOf('?hours=72')).length, 72)
  for (const count of ['-1', '73', 'x'])
    t.equal((await person.client.get(`/usage?hours=${count}`)).status, 400)
})

t.test('two processes add to the same days at once', async (t) => {
  const second = await startServer(t, sharedDataOf(server))
  const people = await Promise.all(Array.from({ length: 5 }, () => server.person()))
  const errors: Error[] = []
  const recorders = [database, second.services.database].map((db) =>
    recorderOn(db, { onError: (e) => errors.push(e) }),
  )
  for (let round = 0; round < 10; round++) {
    for (const [i, recorder] of recorders.entries())
      for (const person of i === 0 ? people : people.toReversed()) recorder.record(requestOf(person.id))
    await Promise.all(recorders.map((recorder) => recorder.flush()))
  }
  await Promise.all(recorders.map((recorder) => recorder.close()))
  for (const { id } of people)
    t.match(await prisma.usageDay.findMany({ where: { userId: id } }), [{ requests: 20n }])
  t.strictSame(errors, [])
})

t.test('after an outage of PostgreSQL, the requests from before are written once', async (t) => {
  const proxy = await createDatabaseProxy(t, server.databaseUrl)
  const proxied = await startServer(t, { ...sharedDataOf(server), databaseUrl: proxy.url })
  const person = await server.person()
  const errors: Error[] = []
  const recorder = recorderOn(proxied.services.database, { onError: (error) => errors.push(error) })
  for (let i = 0; i < 3; i++) recorder.record(requestOf(person.id))
  await proxy.cut()
  for (let i = 0; i < 3; i++) {
    await recorder.flush()
    recorder.record(requestOf(person.id))
  }
  t.equal(errors.length, 1, 'an outage is reported once')
  await proxy.restore()
  await waitUntil(async () => {
    await recorder.flush()
    return (await prisma.apiRequest.count({ where: { userId: person.id } })) === 6
  }, 'the requests')
  await recorder.close()
  t.equal((await usageOf(person, 1))[0].requests, 6)
  t.equal(recorder.dropped, 0)
})

t.test('requests are answered while what was recorded cannot be written', async (t) => {
  const person = await server.person()
  t.equal((await person.client.get('/projects')).status, 200)
  const lock = await database.openSession()
  await lock.query('BEGIN')
  await lock.query('LOCK TABLE usage_days')
  const flushing = requestRecorder.flush()
  for (let i = 0; i < 20; i++) t.equal((await person.client.get('/projects')).status, 200)
  await lock.query('ROLLBACK')
  await lock.end()
  await flushing
  t.equal((await usageOf(person, 1))[0].requests, 21)
})

t.test('a batch that was committed before the connection failed is not counted twice', async (t) => {
  const person = await server.person()
  let fails = 2
  const cut: typeof database = Object.create(database, {
    transaction: {
      value: async (...parameters: Parameters<typeof database.transaction>) => {
        const result = await database.transaction(...parameters)
        if (fails-- > 0) throw unavailable()
        return result
      },
    },
  })
  const recorder = recorderOn(cut)
  for (let i = 0; i < 20; i++) recorder.record(requestOf(person.id))
  await recorder.flush()
  recorder.record(requestOf(person.id))
  await recorder.flush()
  await recorder.close()
  t.equal(fails, -2)
  t.equal((await usageOf(person, 1))[0].requests, 21)
  const { _sum: sum } = await prisma.apiRequest.aggregate({
    where: { userId: person.id },
    _sum: { requests: true },
  })
  t.equal(sum.requests, 21)
})

t.test('memory has a limit: what exceeds it is dropped and counted', async (t) => {
  const failing: typeof database = Object.create(database, {
    transaction: { value: () => Promise.reject(unavailable()) },
  })
  const recorder = recorderOn(failing, { maxRows: 100 })
  const record = (users: number): void => {
    for (let i = 0; i < users; i++) recorder.record(requestOf(`usr_${i}`))
  }
  record(150)
  t.equal(recorder.dropped, 50)
  await recorder.flush()
  record(150)
  await recorder.flush()
  record(10)
  t.equal(recorder.dropped, 100)
  record(100)
  t.equal(recorder.dropped, 100, 'a user who has a row is counted without another one')
  await recorder.close()
})

t.test('a batch that the database refuses for good does not stop the next', async (t) => {
  const person = await server.person()
  const errors: Error[] = []
  const recorder = recorderOn(database, { onError: (error) => errors.push(error) })
  recorder.record({ ...requestOf(person.id), operation: 'a\0' })
  await recorder.flush()
  t.equal(recorder.dropped, 1)
  t.equal(errors.length, 1)
  recorder.record(requestOf(person.id))
  await recorder.close()
  t.equal((await usageOf(person, 1))[0].requests, 1)
})

t.test('usage is kept for 400 days', async (t) => {
  const person = await server.person()
  for (const daysAgo of [402, 398])
    await prisma.usageDay.create({ data: { userId: person.id, day: new Date(dayOf(daysAgo)) } })
  await runRetention(database, { tasks: usageRetentionTasks({ days: 7 }) })
  t.match(await prisma.usageDay.findMany({ where: { userId: person.id } }), [{ day: new Date(dayOf(398)) }])
})
