// Two servers with each bus, PostgreSQL and NATS: revocation reaches the other server before the answer,
// streams are in order, and webhooks are sent once. And NATS alone: what is lost while it is away.
import t, { type Test } from 'tap'
import { NatsBus } from '../../infra/bus/nats-bus.ts'
import { checkBus, connectNats } from '../../infra/bus/nats-connection.ts'
import { Listener, readOrigin } from '../../infra/database/notifications.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { freePort } from '../../scripts/test/free-port.ts'
import { skipWithoutNats, startNats } from '../support/database/nats.ts'
import { openReceiver } from '../support/http/receiver.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { openReader } from '../support/http/sse-readers.ts'
import { startWorkingServer } from '../support/server/working-server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const revocations = isLongForm ? 100 : 20

const listening = ({ services }: TestServer): boolean => services.listener.listening

async function statusOf({ url }: TestServer, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/user/profile`, { headers: { authorization: `Bearer ${key}` } })
  await response.arrayBuffer()
  return response.status
}

async function createProject({ url }: TestServer, key: string, name: string): Promise<void> {
  const response = await fetch(`${url}/v1/projects`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  })
  await response.arrayBuffer()
}

async function startTwo(t: Test, env: Record<string, string>) {
  const first = await startWorkingServer(t, { env, sends: false })
  const second = await startServer(t, { env, databaseUrl: first.databaseUrl })
  await waitUntil(() => listening(first) && listening(second), 'notifications')
  return { first, second }
}

for (const bus of ['PostgreSQL', 'NATS'])
  t.test(`two servers over ${bus}`, { skip: bus === 'NATS' && skipWithoutNats }, async (t) => {
    const env: Record<string, string> = bus === 'NATS' ? { BUS_URL: (await startNats(t)).url } : {}
    const { first, second } = await startTwo(t, env)

    t.test(`${revocations} revoked keys are refused by the other server at once`, async (t) => {
      const person = await first.person()
      const statuses: number[] = []
      const slow: number[] = []
      for (let i = 0; i < revocations; i++) {
        const { id, secret } = await createApiKey(first, person.id, { scopes: ['user:read'] })
        const [one, other] = i % 2 === 0 ? [first, second] : [second, first]
        t.equal(await statusOf(other, secret), 200)
        const startedAt = performance.now()
        const response = await fetch(`${one.url}/v1/user/api-keys/${id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${person.key}` },
        })
        await response.arrayBuffer()
        slow.push(performance.now() - startedAt)
        t.ok(response.ok, `the answer is ${response.status}`)
        statuses.push(await statusOf(other, secret))
      }
      t.same(statuses, Array(revocations).fill(401))
      const [median] = slow.toSorted((a, b) => a - b).slice(revocations / 2)
      t.comment(`a revocation takes ${Math.round(median)} ms in the median`)
      t.ok(median < 1_000, `${Math.round(median)} ms in the median`)
    })

    t.test('streams of both servers have the events of both in the order of the log', async (t) => {
      const person = await first.person()
      const readers = [await openReader(t, first, person.key), await openReader(t, second, person.key)]
      for (let i = 0; i < 20; i++) {
        await createProject(first, person.key, `first ${i}`)
        await createProject(second, person.key, `second ${i}`)
      }
      await waitUntil(() => readers.every(({ events }) => named(events).length === 40), 'all events')
      const [one, other] = readers.map(({ events }) => named(events))
      t.same(one, other)
      t.same(
        one,
        Array.from({ length: 40 }, (_, i) => `${i % 2 === 0 ? 'first' : 'second'} ${Math.floor(i / 2)}`),
      )
    })

    t.test('webhooks are sent once', async (t) => {
      await first.work()
      await first.work({ services: second.services })
      const receiver = await openReceiver(t)
      const { admin } = first
      await admin.client.post('/webhooks/endpoints', { url: receiver.url, event_types: ['project.created'] })
      for (let i = 0; i < 30; i++) await createProject(i % 2 === 0 ? first : second, admin.key, `${i}`)
      await waitUntil(() => receiver.received.length >= 30, 'the webhooks')
      await new Promise((resolve) => setTimeout(resolve, 300))
      t.equal(receiver.received.length, 30)
      t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 30)
    })
  })

function named(events: Array<{ event: string; data: any }>): string[] {
  return events.filter(({ event }) => event === 'message').map(({ data }) => data.data.object.name)
}

t.test('messages that are not JSON', { skip: skipWithoutNats }, async (t) => {
  const { url } = await startNats(t)
  const server = await startServer(t, { env: { BUS_URL: url } })
  const { database } = server.services
  const errors: string[] = []
  const bus = new NatsBus({
    database,
    url,
    leadership: { leading: false, onChange: () => {} },
    openListener: () => new Listener({ db: database, url: server.databaseUrl }),
    onError: ({ message }) => errors.push(message),
  })
  const heard: string[] = []
  bus.on('heard', (payload) => heard.push(payload))
  await bus.start()
  t.teardown(() => bus.close())
  await waitUntil(() => bus.listening, 'a heartbeat')

  const other = await connectNats(url, { reconnect: false })
  t.teardown(() => other.close())
  const [{ id }] = await database.sql(readOrigin, [])
  for (const subject of ['relayed', 'direct'])
    for (const text of ['', 'not JSON', 'null']) other.publish(`platform.${id}.${subject}`, text)
  other.publish(`platform.${id}.direct`, JSON.stringify({ channel: 'heard', payload: 'after them' }))
  await waitUntil(() => heard.length > 0, 'the message after them')
  t.same(heard, ['after them'])
  await waitUntil(() => errors.length >= 6, 'an error of each')
  t.equal(errors.length, 6, errors.join('; '))
})

t.test('NATS that is away', { skip: skipWithoutNats }, async (t) => {
  const nats = await startNats(t)
  const { first, second } = await startTwo(t, { BUS_URL: nats.url })

  const busOf = async ({ url }: TestServer): Promise<{ status: number; body: any }> => {
    const response = await fetch(`${url}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  const isAway = async (server: TestServer): Promise<boolean> =>
    (await busOf(server)).body.checks.bus === 'unavailable'

  for (const [fault, begin, end] of [
    ['killed', nats.kill, nats.start],
    ['hung', nats.pause, nats.resume],
  ] as const)
    t.test(`${fault}: processes listen at PostgreSQL, revocation and streams go on`, async (t) => {
      const person = await first.person()
      const reader = await openReader(t, second, person.key)
      const revoke = async (): Promise<void> => {
        const { id, secret } = await createApiKey(first, person.id, { scopes: ['user:read'] })
        t.equal(await statusOf(second, secret), 200)
        t.equal((await person.client.delete(`/user/api-keys/${id}`)).status, 204)
        t.equal(await statusOf(second, secret), 401)
      }
      t.match(await busOf(first), { status: 200, body: { status: 'ok', checks: { bus: 'ok' } } })
      await begin()
      // While no process knows, a revocation waits until all do.
      await revoke()
      await waitUntil(async () => (await isAway(first)) && (await isAway(second)), 'the outage to be noticed')
      await waitUntil(() => listening(first) && listening(second), 'notifications of PostgreSQL')
      const checks = { bus: 'unavailable', notifications: 'ok', database: 'ok' }
      t.match(await busOf(first), { status: 200, body: { status: 'degraded', checks } })
      for (let i = 0; i < 5; i++) await revoke()
      await createProject(first, person.key, 'without NATS')
      await waitUntil(() => named(reader.events).includes('without NATS'), 'the event')

      await end()
      await waitUntil(async () => !(await isAway(first)) && !(await isAway(second)), 'NATS again')
      for (let i = 0; i < 5; i++) await revoke()
      await createProject(first, person.key, 'with NATS')
      await waitUntil(() => named(reader.events).includes('with NATS'), 'the event')
      const names = named(reader.events).filter((name) => name.endsWith(' NATS'))
      t.same(names, ['without NATS', 'with NATS'])
    })

  t.test('another server relays when the leader has left', async (t) => {
    const leader = first.services.leadership.leading ? first : second
    const other = leader === first ? second : first
    void leader.services.leadership.close()
    await waitUntil(() => other.services.leadership.leading, 'another leader')
    await waitUntil(() => listening(first) && listening(second), 'notifications of the new relay')
    const person = await first.person()
    const { id, secret } = await createApiKey(first, person.id, { scopes: ['user:read'] })
    t.equal(await statusOf(leader, secret), 200)
    await person.client.delete(`/user/api-keys/${id}`)
    t.equal(await statusOf(leader, secret), 401)
  })
})

t.test('a process that starts while NATS is away listens at PostgreSQL', async (t) => {
  const env = { BUS_URL: `nats://127.0.0.1:${await freePort()}` }
  const server = await startServer(t, { env })
  await waitUntil(() => listening(server), 'notifications')
  const response = await fetch(`${server.url}/readyz`)
  t.equal(response.status, 200)
  t.match(await response.json(), { status: 'degraded', checks: { bus: 'unavailable', notifications: 'ok' } })
})

t.test('the start says that no NATS server answers', async (t) => {
  await t.rejects(checkBus(`nats://127.0.0.1:${await freePort()}`), /^.*BUS_URL leads to no NATS server/)
})

t.test('the start says that the password is wrong', { skip: skipWithoutNats }, async (t) => {
  const { url } = await startNats(t)
  await t.rejects(checkBus(url.replace('p%40ss', 'wrong')), /BUS_URL leads to no NATS server.*uthori/i)
})
