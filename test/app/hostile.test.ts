// Hostile clients: expensive bodies and clients that never read must not stall the server for others.
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startServer } from '../support/server/server.ts'

type Many = (value: (i: number) => unknown) => unknown[]

t.test('the cost of a body with many mistakes is linear in its size', async (t) => {
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
  /** The smaller CPU time of two requests, in seconds. */
  const costOf = async (path: string, body: unknown): Promise<number> => {
    let least = Infinity
    for (let round = 0; round < 2; round++) {
      const before = process.cpuUsage()
      const { status, body: answer } = await client.post(path, body)
      const { user, system } = process.cpuUsage(before)
      t.equal(status, JSON.stringify(body).length > 64 * 1024 ? 413 : 400)
      t.ok(status === 413 || answer.error.details.errors.length <= 100)
      least = Math.min(least, (user + system) / 1e6)
    }
    return least
  }
  const [smallBodies, largeBodies, refusedBodies] = [250, 4_000, 40_000].map((length) =>
    bodiesOf((value) => Array.from({ length }, (_, i) => value(i))),
  )
  for (const [i, [path, body]] of largeBodies.entries()) {
    const small = await costOf(...smallBodies[i])
    const large = await costOf(path, body)
    // 16 times as many cost at most 16 times as much; quadratic work would cost 256 times as much.
    t.ok(large < 40 * small + 1, `${path}: ${large} s of CPU, ${small} s for a sixteenth of the size`)
    const refused = await costOf(...refusedBodies[i])
    t.ok(refused < 40 * small + 1, `${path}: ${refused} s of CPU for a body that is too large`)
  }
})

t.test('equal items are rejected, items that differ in case are not', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  t.equal(
    (await client.post('/projects', { name: 'x', tags: ['a', 'b', 'a'] })).body.error.details.constraint,
    'uniqueItems',
  )
  t.equal((await client.post('/projects', { name: 'x', tags: ['a', 'A'] })).status, 201)
})

t.test('clients that never read use little memory', async (t) => {
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
  const grownMegabytes = (process.memoryUsage().rss - before) / 1e6
  t.ok(
    grownMegabytes < 250,
    `${Math.round(grownMegabytes)} MB for 100 connections; a copy of the file for each would be 435 MB`,
  )
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
})
