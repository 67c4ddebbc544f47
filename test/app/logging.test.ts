// The log: a line of each request, as JSON or for people.
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createLog, prettyOutput } from '../../app/logging.ts'
import { loggedPath } from '../../app/http/request-log.ts'
import { newId } from '../../infra/ids.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { spawnServer, bootstrapKey } from '../support/server/process.ts'
import { startServer, type TestServer } from '../support/server/server.ts'

const requestLines = ({ logs }: TestServer): any[] =>
  logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')

t.test('the line of a request has operation, path, status, error code and actor', async (t) => {
  const server = await startServer(t)
  const { client, id, key } = await server.person()
  const project = newId('prj')
  await client.get(`/projects/${project}`)
  t.match(requestLines(server).at(-1), {
    request_id: /^req_/,
    operation: 'getProject',
    method: 'GET',
    path: `/v1/projects/${project}`,
    status: 404,
    code: 'NOT_FOUND',
    ms: Number,
    user_id: id,
    key_id: /^key_/,
  })
  await client.get('/projects?q=secret')
  const { code, ...line } = requestLines(server).at(-1)
  t.equal(code, undefined, 'no error, no code')
  t.match(line, { operation: 'listProjects', path: '/v1/projects', status: 200 })

  await fetch(`${server.url}/v1/nothing/${key}/ada%40example.com?key=${key}`)
  t.match(requestLines(server).at(-1), { path: '/v1/nothing/…/…', status: 404, code: 'NOT_FOUND' })
  await fetch(`${server.url}/v1/projects`)
  t.match(requestLines(server).at(-1), { operation: 'listProjects', status: 401, code: 'UNAUTHORIZED' })
  t.notOk(server.logs.join('').includes(key.slice(10)))
})

t.test('successful health checks are not logged at the level info', async (t) => {
  const server = await startServer(t)
  for (const path of ['/healthz', '/readyz']) t.equal((await fetch(server.url + path)).status, 200)
  t.same(requestLines(server), [])
})

t.test('a logged path has no query, no long segment and no end', async (t) => {
  const token = 'Jb0dG7pX2sYwQ4mKfZ8vN1cR6tH9uLeA3iBoEy5gPaU'
  t.equal(loggedPath(`/v1/storage/links/${token}?a=b`), '/v1/storage/links/…')
  t.equal(loggedPath('/v1/projects#x'), '/v1/projects')
  t.equal(loggedPath('/a\u001b[31m"/b'), '/…/b')
  t.equal(loggedPath('/a'.repeat(1000)).length, 300)
})

t.test('a terminal gets lines for people', async (t) => {
  const output = new PassThrough()
  const log = createLog('info', await prettyOutput(output))
  const request = { method: 'GET', path: '/v1/projects', status: 200, ms: 4.1, user_id: 'usr_1' }
  log.info(request, 'request')
  log.warn({ ms: 120 }, 'the main thread stalled')
  log.error({ err: new Error('lost') }, 'background work failed')
  output.end()
  const [first, second, third] = (await text(output)).split('\n')
  t.match(first, /^\[.+\] INFO: GET \/v1\/projects 200 in 4\.1 ms \{"user_id":"usr_1"\}$/)
  t.match(second, /WARN: the main thread stalled \(120 ms\)/)
  t.match(third, /ERROR: background work failed/)
})

t.test('without a terminal, standard output has JSON', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: t.testdir(), LOG_LEVEL: 'info' }
  const server = await spawnServer(t, env)
  let output = ''
  server.child.stdout!.on('data', (chunk) => (output += chunk))
  await fetch(`${server.url}/v1/projects`, { headers: { authorization: `Bearer ${bootstrapKey}` } })
  await server.end('SIGTERM')
  const lines = output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  t.match(
    lines.find(({ msg }) => msg === 'request'),
    { operation: 'listProjects', path: '/v1/projects', status: 200 },
  )
})
