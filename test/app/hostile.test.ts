// One small request must not stop everyone's: bodies made to be dear, and readers who never read.
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startServer } from '../support/server.ts'

const many = (value: (i: number) => unknown) => Array.from({ length: 20_000 }, (_, i) => value(i))

t.test('a body with twenty thousand mistakes costs no more than its size', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const bodies: Array<[string, unknown]> = [
    ['/user/api-keys', { name: 'x', scopes: many(() => 1) }],
    ['/user/api-keys', { name: 'x', scopes: many((i) => `scope-${i}`) }],
    ['/user/api-keys', { name: 'x', scopes: ['user:read'], project_ids: many((i) => ({ i })) }],
    ['/projects', { name: 'x', tags: many(() => 1) }],
    ['/projects', { name: 'x', tags: many((i) => `tag ${i}`) }],
    ['/projects', Object.fromEntries(many((i) => [`unknown${i}`, 1]) as Array<[string, number]>)],
    ['/projects', { name: 'x', metadata: Object.fromEntries(many((i) => [`k${i}`, 1]) as Array<[string, number]>) }]
  ]
  for (const [path, body] of bodies) {
    const before = process.cpuUsage()
    const { status, body: answer } = await client.post(path, body)
    const used = process.cpuUsage(before)
    t.equal(status, 400)
    t.ok(answer.error.details.errors.length <= 100)
    // Quadratic work took 6 to 55 seconds here; what is linear takes a few hundredths.
    t.ok(used.user + used.system < 3e6, `${path}: ${(used.user + used.system) / 1e6} s of CPU`)
  }
})

t.test('equal items are found whatever their form', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  t.equal((await client.post('/projects', { name: 'x', tags: ['a', 'b', 'a'] })).body.error.details.constraint, 'uniqueItems')
  t.equal((await client.post('/projects', { name: 'x', tags: ['a', 'A'] })).status, 201)
})

t.test('readers who never read hold little', async (t) => {
  const server = await startServer(t)
  const { port } = new URL(server.url)
  const script = /src="(\/docs\/[^"]+)"/.exec(await (await fetch(`${server.url}/docs`)).text())![1]
  await (await fetch(server.url + script)).arrayBuffer()
  const before = process.memoryUsage().rss
  const sockets: Socket[] = []
  t.teardown(() => { for (const socket of sockets) socket.destroy() })
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
