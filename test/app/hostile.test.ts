// One small request must not stop everyone's: bodies made to be dear, and readers who never read.
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startServer } from '../support/server.ts'

type Many = (value: (i: number) => unknown) => unknown[]

t.test('a body with forty thousand mistakes costs no more than its size', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const bodiesOf = (many: Many): Array<[string, unknown]> => [
    ['/user/api-keys', { name: 'x', scopes: many(() => 1) }],
    ['/user/api-keys', { name: 'x', scopes: many((i) => `scope-${i}`) }],
    ['/user/api-keys', { name: 'x', scopes: ['user:read'], project_ids: many((i) => ({ i })) }],
    ['/projects', { name: 'x', tags: many(() => 1) }],
    ['/projects', { name: 'x', tags: many((i) => `tag ${i}`) }],
    ['/projects', Object.fromEntries(many((i) => [`unknown${i}`, 1]) as Array<[string, number]>)],
    [
      '/projects',
      { name: 'x', metadata: Object.fromEntries(many((i) => [`k${i}`, 1]) as Array<[string, number]>) },
    ],
  ]
  /** The least of two, in seconds of CPU. */
  const costOf = async (path: string, body: unknown): Promise<number> => {
    let least = Infinity
    for (let round = 0; round < 2; round++) {
      const before = process.cpuUsage()
      const { status, body: answer } = await client.post(path, body)
      const { user, system } = process.cpuUsage(before)
      t.equal(status, 400)
      t.ok(answer.error.details.errors.length <= 100)
      least = Math.min(least, (user + system) / 1e6)
    }
    return least
  }
  const [few, all] = [2_500, 40_000].map((length) =>
    bodiesOf((value) => Array.from({ length }, (_, i) => value(i))),
  )
  for (const [i, [path, body]] of all.entries()) {
    const small = await costOf(...few[i])
    const large = await costOf(path, body)
    // 16 times as many cost at most 16 times as much; quadratic work would cost 256 times as much.
    t.ok(large < 40 * small + 1, `${path}: ${large} s of CPU, of a sixteenth ${small} s`)
  }
})

t.test('equal items are found whatever their form', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  t.equal(
    (await client.post('/projects', { name: 'x', tags: ['a', 'b', 'a'] })).body.error.details.constraint,
    'uniqueItems',
  )
  t.equal((await client.post('/projects', { name: 'x', tags: ['a', 'A'] })).status, 201)
})

t.test('readers who never read hold little', async (t) => {
  const server = await startServer(t)
  const { port } = new URL(server.url)
  const script = /src="(\/docs\/[^"]+)"/.exec(await (await fetch(`${server.url}/docs`)).text())![1]
  await (await fetch(server.url + script)).arrayBuffer()
  const before = process.memoryUsage().rss
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < 100; i++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(`GET ${script} HTTP/1.1\r\nhost: x\r\n\r\n`)
    sockets.push(socket)
  }
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const grown = (process.memoryUsage().rss - before) / 1e6
  t.ok(grown < 250, `${Math.round(grown)} MB for 100 of them, 435 MB if each held the whole`)
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
})
