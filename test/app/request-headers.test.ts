// Header fields that mean one thing to this server and another to a proxy, and the request id of a client.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { sendRaw } from '../support/http/raw-http.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const person = await server.person()
const auth = `authorization: Bearer ${person.key}`
const json = 'content-type: application/json'

t.test('two Host or Authorization fields are 400', async (t) => {
  const other = await server.person()
  // `sendRaw` sends the first Host itself.
  const twice = {
    Host: ['host: other', auth],
    Authorization: [auth, `Authorization: Bearer ${other.key}`],
  }
  for (const [field, headers] of Object.entries(twice)) {
    const reply = await sendRaw(server, 'GET /v1/user/profile HTTP/1.1', headers)
    t.match(reply, { status: 400, body: { error: { code: 'INVALID_REQUEST' } } }, field)
    t.match(reply.body.error.details, { field, constraint: 'once', errors: [{ location: 'header' }] })
    t.notOk(reply.text.includes(person.id))
  }
  t.equal((await sendRaw(server, 'GET /v1/user/profile HTTP/1.1', [auth])).status, 200)
  t.equal((await sendRaw(server, 'GET /nowhere HTTP/1.1', ['host: other'])).status, 400)
})

t.test('a compressed body is 415 and has no effect', async (t) => {
  const body = JSON.stringify({ bio: 'compressed' })
  const put = 'PUT /v1/user/profile HTTP/1.1'
  for (const [coding, bytes] of [
    ['gzip', gzipSync(body)],
    ['gzip', body],
    ['br, gzip', body],
    ['unknown', body],
  ] as const) {
    const reply = await sendRaw(server, put, [auth, json, `content-encoding: ${coding}`], bytes)
    t.match(reply, { status: 415, body: { error: { details: { field: 'Content-Encoding' } } } }, coding)
    t.same(reply.headers.get('accept-encoding'), ['identity'])
  }
  t.equal((await person.client.get('/user/profile')).body.bio, null)
  t.equal((await sendRaw(server, put, [auth, json, 'content-encoding: identity'], body)).status, 200)
  const unknown = await sendRaw(server, put, [json, 'content-encoding: gzip'], body)
  t.equal(unknown.status, 401, 'the key is checked first')
  const upload = ['content-type: application/offset+octet-stream', 'tus-resumable: 1.0.0', 'upload-length: 4']
  const tus = await sendRaw(
    server,
    'POST /v1/storage/uploads HTTP/1.1',
    [auth, ...upload, 'upload-metadata: filename YQ==', 'content-encoding: gzip'],
    'data',
  )
  t.equal(tus.status, 415, 'a resumable upload')
})

t.test("a client's request id stands beside the server's own, in the log and in events", async (t) => {
  const { body: project } = await person.client.post('/projects', { name: 'x' })
  const member = await server.person()
  const { body: first } = await person.client.put(`/projects/${project.id}`, { name: 'y' })
  t.ok(first.id)
  const { id: forged } = (await person.client.get('/events?order=desc&limit=1')).body.data[0]
  const { request_id: stolen } = (await person.client.get(`/events/${forged}`)).body
  t.match(stolen, /^req_/)
  const reply = await person.client.put(
    `/projects/${project.id}`,
    { name: 'z' },
    { headers: { 'x-request-id': stolen } },
  )
  t.equal(reply.headers.get('x-request-id'), stolen, 'the response has the id of the client')
  const [event] = (await person.client.get('/events?order=desc&limit=1')).body.data
  t.not(event.request_id, stolen)
  t.match(event, { request_id: /^req_/, client_request_id: stolen })
  const lines = server.logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  t.equal(lines.filter(({ request_id: id }) => id === stolen).length, 1, 'no second request has this id')
  t.match(
    lines.find(({ client_request_id: id }) => id === stolen),
    { request_id: event.request_id, user_id: person.id },
  )
  const refused = await member.client.get(`/projects/${project.id}`, { headers: { 'x-request-id': 'mine' } })
  t.equal(refused.body.error.details.request_id, 'mine')
})
