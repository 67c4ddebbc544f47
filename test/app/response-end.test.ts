// What happens at the end of a response also happens when its client leaves first.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import { addEndHooks, atEnd, endStatus } from '../../app/http/response-end.ts'
import { startServer } from '../support/server/server.ts'
import { waitForLock, waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)

const open = async (): Promise<{ socket: Socket; received: () => string }> => {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await once(socket, 'connect')
  return { socket, received: () => text }
}

const head = (line: string, key: string, more = ''): string =>
  `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`

t.test('an event stream has its line in the log when the client leaves', async (t) => {
  const { key, id } = await server.person()
  const { socket, received } = await open()
  socket.write(head('GET /v1/events/stream', key))
  await waitUntil(() => received().includes(': connected'), 'the stream')
  socket.destroy()
  const line = await waitUntil(
    () => server.logs.find((each) => each.includes('streamEvents') && each.includes(id)),
    'the line',
  )
  t.match(JSON.parse(line as string), { msg: 'request', status: 200 })
})

t.test('a client that has left while the server waited is seen at once', async (t) => {
  const app = Fastify() as any
  t.teardown(() => app.close())
  addEndHooks(app)
  const statuses: number[] = []
  app.endHooks.push((_request: unknown, reply: any) => statuses.push(endStatus(reply)))
  let [isRunning, ended] = [false, 0]
  app.get('/', async (_request: unknown, reply: any) => {
    isRunning = true
    await once(reply.raw, 'close')
    atEnd(reply, () => ended++)
    return 'too late'
  })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await waitUntil(() => isRunning, 'the request')
  socket.destroy()
  await waitUntil(() => ended === 1 && statuses.length === 1, 'the end')
  t.strictSame(statuses, [499])
})

t.test('pipelined requests are served in order', async (t) => {
  const { key, client } = await server.person()
  const { socket, received } = await open()
  const body = '{"name":"Second"}'
  const more = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  socket.write(
    head('GET /v1/projects', key) +
      head('POST /v1/projects', key, more) +
      body +
      head('GET /v1/projects', key, 'Connection: close\r\n'),
  )
  await once(socket, 'close')
  t.strictSame(received().match(/(?<=HTTP\/1.1 )\d+/g), ['200', '201', '200'])
  t.strictSame(received().match(/(?<="total":)\d+/g), ['0', '1'])
  t.equal((await client.get('/projects')).body.pagination.total, 1)
})

t.test('a pipelined request behind a stream has no effect when the connection is cut', async (t) => {
  const { key, client } = await server.person()
  const project = (await client.post('/projects', { name: 'Kept' })).body
  const { socket, received } = await open()
  socket.write(head('GET /v1/events/stream', key) + head(`DELETE /v1/projects/${project.id}`, key))
  await waitUntil(() => received().includes(': connected'), 'the stream')
  t.equal((await client.get(`/projects/${project.id}`)).status, 200)
  socket.destroy()
  await waitUntil(() => server.logs.filter((each) => each.includes('streamEvents')).length === 2, 'its end')
  t.equal((await client.get(`/projects/${project.id}`)).body.status, 'active')
  t.notOk(server.logs.some((each) => each.includes('deleteProject')))
})

t.test('the audit log has the outcome of a change whose client has left', async (t) => {
  const { key, client } = await server.person()
  const { database, auditRecorder } = server.services
  const project = (await client.post('/projects', { name: 'Gone' })).body
  for (const [line, expected] of [
    [`DELETE /v1/projects/${project.id}`, { status: 204, outcome: 'done' }],
    [`DELETE /v1/projects/${project.id}`, { status: 404, outcome: 'failed' }],
  ] as const) {
    const lock = await database.openSession()
    await lock.query('BEGIN')
    await lock.query('SELECT FROM projects WHERE id = $1 FOR UPDATE', [project.id])
    const { socket } = await open()
    socket.write(head(line, key))
    await waitForLock(database)
    socket.destroy()
    await waitUntil(() => server.logs.some((each) => each.includes('deleteProject')), 'its end')
    await lock.query('COMMIT')
    await lock.end()
    const entry = await waitUntil(async () => {
      await auditRecorder.flush()
      const { data } = (await server.admin.client.get('/audit-log?operation=deleteProject')).body
      return data.find((each: any) => each.status === expected.status)
    }, 'the entry')
    t.match(entry, { ...expected, resource_id: project.id })
    server.logs.length = 0
  }
})
