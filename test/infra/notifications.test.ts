// The connection that listens: what it hears and in which order, how it is lost and found again, whom it waits for.
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { createListener, type ListenerOptions } from '../../infra/database/notifications.ts'
import { createDatabaseProxy } from '../support/database-proxy.ts'
import { createTestDatabase } from '../support/database.ts'
import { waitUntil } from '../support/wait.ts'

const endListeners =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'platform listener' AND datname = current_database()"

async function openTestDatabase(t: Test) {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url })
  t.teardown(() => db.close())
  const tell = (channel: string, payload: string) =>
    db.pool.query('SELECT pg_notify($1, $2)', [channel, payload])
  /** A listener that writes down what it hears on the channels, when it hears and what breaks. */
  const listen = (t: Test, channels: string[] = [], options: Partial<ListenerOptions> = {}) => {
    const heard: string[] = []
    const states: boolean[] = []
    const errors: Error[] = []
    const listener = createListener({ db, url, onError: (error) => errors.push(error), ...options })
    for (const channel of channels) listener.on(channel, (payload) => heard.push(`${channel} ${payload}`))
    listener.onState((listening) => states.push(listening))
    t.teardown(() => listener.close())
    return { listener, heard, states, errors }
  }
  return { url, db, tell, listen }
}

t.test('what is heard', async (t) => {
  const { db, tell, listen } = await openTestDatabase(t)

  t.test('what is committed is heard on each channel, in the order of the commits', async (t) => {
    const { listener, heard, states } = listen(t, ['ones', 'Two "words"'])
    listener.start()
    await waitUntil(() => listener.listening)
    await db.transaction(async (tx) => {
      await tx.prisma.$executeRawUnsafe("SELECT pg_notify('ones', 'began first')")
      await tell('ones', 'committed first')
      await tell('Two "words"', 'second')
      await tell('threes', 'of no concern')
    })
    await db
      .transaction(async (tx) => {
        await tx.prisma.$executeRawUnsafe("SELECT pg_notify('ones', 'undone')")
        throw new Error('undone')
      })
      .catch(() => {})
    await tell('ones', 'last')
    await waitUntil(() => heard.includes('ones last'))
    t.same(heard, ['ones committed first', 'Two "words" second', 'ones began first', 'ones last'])
    t.same(states, [true])
  })

  t.test('two may hear one channel', async (t) => {
    const { listener, heard } = listen(t, ['ones', 'ones'])
    listener.start()
    await waitUntil(() => listener.listening)
    await tell('ones', 'x')
    await waitUntil(() => heard.length > 0)
    t.same(heard, ['ones x', 'ones x'])
  })

  t.test('a channel that comes after the start is refused', async (t) => {
    const { listener } = listen(t)
    listener.start()
    t.throws(() => listener.on('late', () => {}), /has started without the channel late/)
  })

  t.test('what throws is reported, and the next notification is heard by all', async (t) => {
    const { listener, heard, errors, states } = listen(t)
    listener.on('ones', (payload) => {
      throw new Error(`no ${payload}`)
    })
    listener.on('ones', (payload) => heard.push(payload))
    listener.onState(() => {
      throw new Error('no state')
    })
    listener.start()
    await waitUntil(() => listener.listening)
    await tell('ones', 'a')
    await tell('ones', 'b')
    await waitUntil(() => heard.includes('b'))
    t.same(heard, ['a', 'b'])
    t.same(
      errors.map(({ message }) => message),
      ['no state', 'no a', 'no b'],
    )
    t.same(states, [true], 'the connection is the same')
  })
})

t.test('a connection that is lost', async (t) => {
  const { url, db, tell, listen } = await openTestDatabase(t)

  t.test('says that it is, and hears again by itself', async (t) => {
    const { listener, heard, states, errors } = listen(t, ['ones'])
    listener.start()
    await waitUntil(() => listener.listening)
    await db.pool.query(endListeners)
    await waitUntil(() => states.length === 3, 'listening again')
    t.same(states, [true, false, true])
    t.ok(errors.length > 0)
    await tell('ones', 'after')
    await waitUntil(() => heard.length > 0)
    t.same(heard, ['ones after'])
  })

  t.test('says so while there is no database, and hears again when it is back', async (t) => {
    const wire = await createDatabaseProxy(t, url)
    const { listener, heard, states } = listen(t, ['ones'], { url: wire.url })
    listener.start()
    await waitUntil(() => listener.listening)
    await wire.cut()
    await waitUntil(() => !listener.listening)
    await tell('ones', 'lost')
    await wire.restore()
    await waitUntil(() => listener.listening)
    await tell('ones', 'after')
    await waitUntil(() => heard.length > 0)
    t.same(heard, ['ones after'])
    t.same(states, [true, false, true], 'an attempt that fails ends nothing')
  })

  t.test('is noticed even when nobody says a word', async (t) => {
    const { url: silentUrl, silence } = await createSilentWire(t, url)
    const { listener, states } = listen(t, [], { url: silentUrl, heartbeat: 100 })
    listener.start()
    await waitUntil(() => listener.listening)
    silence()
    await waitUntil(() => !listener.listening)
    t.same(states, [true, false])
  })
})

t.test('settling', async (t) => {
  const { url, db, tell, listen } = await openTestDatabase(t)
  // Nothing is waited for in vain here: a minute would be the end of the test.
  const heartbeat = 20_000

  t.test('with no other listener it asks nobody', async (t) => {
    const { listener } = listen(t, [], { heartbeat })
    listener.start()
    await waitUntil(() => listener.listening)
    await listener.settle()
  })

  t.test(
    'the others have heard what was committed before, whatever the address names its connections',
    async (t) => {
      const named = new URL(url)
      named.searchParams.set('application_name', 'something else')
      const { listener } = listen(t, [], { heartbeat, url: named.href })
      const others = [listen(t, ['ones'], { heartbeat, url: named.href }), listen(t, ['ones'], { heartbeat })]
      for (const each of [listener, ...others.map((other) => other.listener)]) each.start()
      await waitUntil(() => listener.listening && others.every((other) => other.listener.listening))
      for (let i = 1; i <= 50; i++) {
        await tell('ones', `${i}`)
        await listener.settle()
        t.same(
          others.map(({ heard }) => heard.length),
          [i, i],
        )
      }
      await Promise.all(Array.from({ length: 20 }, () => listener.settle()))
    },
  )

  t.test('one that does not answer is waited for until it must know', async (t) => {
    const { listener } = listen(t, [], { heartbeat: 100 })
    listener.start()
    await waitUntil(() => listener.listening)
    const silent = await db.pool.connect()
    try {
      await silent.query("SET application_name = 'platform listener'")
      const began = performance.now()
      await listener.settle()
      t.ok(performance.now() - began > 290)
    } finally {
      silent.release(true)
    }
  })

  t.test('a listener that closes waits for nobody', async (t) => {
    const { listener } = listen(t, [], { heartbeat })
    listener.start()
    await waitUntil(() => listener.listening)
    const silent = await db.pool.connect()
    try {
      await silent.query("SET application_name = 'platform listener'")
      const settled = listener.settle()
      await listener.close()
      await settled
    } finally {
      silent.release(true)
    }
  })
})

t.test('closing', async (t) => {
  const { db, listen } = await openTestDatabase(t)

  t.test('a listener closes while its connection is being made', async (t) => {
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

  t.test('a listener that never started closes', async (t) => {
    await listen(t).listener.close()
  })

  t.test('a closed listener says that it hears no more, and leaves no connection', async (t) => {
    const { listener, states, errors } = listen(t)
    listener.start()
    await waitUntil(() => listener.listening)
    await listener.close()
    t.same(states, [true, false])
    t.same(errors, [])
    await waitUntil(async () => (await db.pool.query(endListeners)).rowCount === 0)
  })
})

/** A way to the database on which, from a moment on, nothing comes through and nothing breaks. */
async function createSilentWire(t: Test, databaseUrl: string): Promise<{ url: string; silence: () => void }> {
  const target = new URL(databaseUrl)
  let silent = false
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
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
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    silence: () => {
      silent = true
    },
  }
}
