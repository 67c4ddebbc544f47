// LISTEN/NOTIFY: the order of notifications, reconnects, and waiting for the other listeners.
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { Listener, type ListenerOptions } from '../../infra/database/notifications.ts'
import { connectTo, createDatabaseProxy, urlOnPort } from '../support/database/database-proxy.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { waitUntil } from '../support/server/wait.ts'

const endListeners = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
   WHERE application_name = 'platform listener' AND datname = current_database()`

async function openTestDatabase(t: Test) {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url })
  t.teardown(() => db.close())
  const notify = (channel: string, payload: string) =>
    db.pool.query('SELECT pg_notify($1, $2)', [channel, payload])
  /** A listener that records its notifications, states and errors. */
  const listen = (t: Test, channels: string[] = [], options: Partial<ListenerOptions> = {}) => {
    const received: string[] = []
    const states: boolean[] = []
    const errors: Error[] = []
    const listener = new Listener({ db, url, onError: (error) => errors.push(error), ...options })
    for (const channel of channels) listener.on(channel, (payload) => received.push(`${channel} ${payload}`))
    listener.onState((listening) => states.push(listening))
    t.teardown(() => listener.close())
    return { listener, received, states, errors }
  }
  return { url, db, notify, listen }
}

t.test('notifications', async (t) => {
  const { db, notify, listen } = await openTestDatabase(t)

  t.test('committed notifications arrive on each channel in the order of the commits', async (t) => {
    const { listener, received, states } = listen(t, ['ones', 'Two "words"'])
    listener.start()
    await waitUntil(() => listener.listening)
    await db.transaction(async (tx) => {
      await tx.prisma.$executeRawUnsafe("SELECT pg_notify('ones', 'began first')")
      await notify('ones', 'committed first')
      await notify('Two "words"', 'second')
      await notify('threes', 'of no concern')
    })
    await db
      .transaction(async (tx) => {
        await tx.prisma.$executeRawUnsafe("SELECT pg_notify('ones', 'undone')")
        throw new Error('undone')
      })
      .catch(() => {})
    await notify('ones', 'last')
    await waitUntil(() => received.includes('ones last'))
    t.same(received, ['ones committed first', 'Two "words" second', 'ones began first', 'ones last'])
    t.same(states, [true])
  })

  t.test('a channel may have two subscribers', async (t) => {
    const { listener, received } = listen(t, ['ones', 'ones'])
    listener.start()
    await waitUntil(() => listener.listening)
    await notify('ones', 'x')
    await waitUntil(() => received.length > 0)
    t.same(received, ['ones x', 'ones x'])
  })

  t.test('a channel cannot be added after the start', async (t) => {
    const { listener } = listen(t)
    listener.start()
    t.throws(() => listener.on('late', () => {}), /has started without the channel late/)
  })

  t.test('an error of a subscriber is reported, and all subscribers get the next notification', async (t) => {
    const { listener, received, errors, states } = listen(t)
    listener.on('ones', (payload) => {
      throw new Error(`no ${payload}`)
    })
    listener.on('ones', (payload) => received.push(payload))
    listener.onState(() => {
      throw new Error('no state')
    })
    listener.start()
    await waitUntil(() => listener.listening)
    await notify('ones', 'a')
    await notify('ones', 'b')
    await waitUntil(() => received.includes('b'))
    t.same(received, ['a', 'b'])
    t.same(
      errors.map(({ message }) => message),
      ['no state', 'no a', 'no b'],
    )
    t.same(states, [true], 'the connection is the same')
  })
})

t.test('a lost connection', async (t) => {
  const { url, db, notify, listen } = await openTestDatabase(t)

  t.test('is reported, and the listener reconnects', async (t) => {
    const { listener, received, states, errors } = listen(t, ['ones'])
    listener.start()
    await waitUntil(() => listener.listening)
    await db.pool.query(endListeners)
    await waitUntil(() => states.length === 3, 'listening again')
    t.same(states, [true, false, true])
    t.ok(errors.length > 0)
    await notify('ones', 'after')
    await waitUntil(() => received.length > 0)
    t.same(received, ['ones after'])
  })

  t.test('is reported while the database is away, and the listener reconnects when it is back', async (t) => {
    const wire = await createDatabaseProxy(t, url)
    const { listener, received, states } = listen(t, ['ones'], { url: wire.url })
    listener.start()
    await waitUntil(() => listener.listening)
    await wire.cut()
    await waitUntil(() => !listener.listening)
    await notify('ones', 'lost')
    await wire.restore()
    await waitUntil(() => listener.listening)
    await notify('ones', 'after')
    await waitUntil(() => received.length > 0)
    t.same(received, ['ones after'])
    t.same(states, [true, false, true], 'a failed attempt reports no further state')
  })

  t.test('is noticed even without any notification', async (t) => {
    const { url: silentUrl, silence } = await createSilentWire(t, url)
    const { listener, states } = listen(t, [], { url: silentUrl, heartbeat: 100 })
    listener.start()
    await waitUntil(() => listener.listening)
    silence()
    await waitUntil(() => !listener.listening)
    t.same(states, [true, false])
  })
})

t.test('waiting for the other listeners', async (t) => {
  const { url, db, notify, listen } = await openTestDatabase(t)
  // No test waits for a time-out: three heartbeats, a minute, would end the test.
  const heartbeat = 20_000

  t.test('without another listener there is no wait', async (t) => {
    const { listener } = listen(t, [], { heartbeat })
    listener.start()
    await waitUntil(() => listener.listening)
    await listener.waitForListeners()
  })

  t.test('the others have received all earlier commits, with any application_name in the URL', async (t) => {
    const named = new URL(url)
    named.searchParams.set('application_name', 'something else')
    const { listener } = listen(t, [], { heartbeat, url: named.href })
    const others = [listen(t, ['ones'], { heartbeat, url: named.href }), listen(t, ['ones'], { heartbeat })]
    for (const each of [listener, ...others.map((other) => other.listener)]) each.start()
    await waitUntil(() => listener.listening && others.every((other) => other.listener.listening))
    for (let i = 1; i <= 50; i++) {
      await notify('ones', `${i}`)
      await listener.waitForListeners()
      t.same(
        others.map(({ received }) => received.length),
        [i, i],
      )
    }
    await Promise.all(Array.from({ length: 20 }, () => listener.waitForListeners()))
  })

  t.test('the wait for a silent listener ends after three heartbeats', async (t) => {
    const { listener } = listen(t, [], { heartbeat: 100 })
    listener.start()
    await waitUntil(() => listener.listening)
    const silent = await db.pool.connect()
    try {
      await silent.query("SET application_name = 'platform listener'")
      const began = performance.now()
      await listener.waitForListeners()
      t.ok(performance.now() - began > 290)
    } finally {
      silent.release(true)
    }
  })

  t.test('closing a listener ends its wait', async (t) => {
    const { listener } = listen(t, [], { heartbeat })
    listener.start()
    await waitUntil(() => listener.listening)
    const silent = await db.pool.connect()
    try {
      await silent.query("SET application_name = 'platform listener'")
      const settled = listener.waitForListeners()
      await listener.close()
      await settled
    } finally {
      silent.release(true)
    }
  })
})

t.test('closing', async (t) => {
  const { db, listen } = await openTestDatabase(t)

  t.test('a listener can be closed while it connects', async (t) => {
    const deaf = createServer((socket) => socket.resume().on('error', () => {}))
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
    t.teardown(() => deaf.close())
    const { listener, errors } = listen(t, [], {
      url: `postgres://x:x@127.0.0.1:${(deaf.address() as AddressInfo).port}/x`,
    })
    listener.start()
    await sleep(50)
    const closed = await Promise.race([listener.close().then(() => true), sleep(3_000, false)])
    t.equal(closed, true)
    t.same(errors, [])
  })

  t.test('a listener that never started can be closed', async (t) => {
    await listen(t).listener.close()
  })

  t.test('a closed listener reports its state and leaves no connection', async (t) => {
    const { listener, states, errors } = listen(t)
    listener.start()
    await waitUntil(() => listener.listening)
    await listener.close()
    t.same(states, [true, false])
    t.same(errors, [])
    await waitUntil(async () => (await db.pool.query(endListeners)).rowCount === 0)
  })
})

/** A proxy to the database that can stop forwarding without closing its connections. */
async function createSilentWire(t: Test, databaseUrl: string): Promise<{ url: string; silence: () => void }> {
  let silent = false
  const server = createServer((near) => {
    const far = connectTo(databaseUrl)
    near
      .on('data', (data) => {
        if (!silent) far.write(data)
      })
      .on('error', () => {})
      .on('close', () => far.destroy())
    far
      .on('data', (data) => {
        if (!silent) near.write(data)
      })
      .on('error', () => {})
      .on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return {
    url: urlOnPort(databaseUrl, (server.address() as AddressInfo).port),
    silence: () => {
      silent = true
    },
  }
}
