// `npm run contract` against servers whose answers have a wrong shape, that cut connections, or that are too
// slow for the time of the run: every finding is reported, and such a run is never green. In `npm test` two
// operations have different wrong answers at once, with `npm run faults` all have each, also alone.
import type { ChildProcess } from 'node:child_process'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { operationsOf } from '@platform-api/openapi/document.ts'
import contract from '../../../generated/openapi.json' with { type: 'json' }
import { runContractHere, startContractCommand } from '../../../test/support/contract/contract-command.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { isLongForm } from '../../../test/support/long-form.ts'
import { listen } from '../../../test/support/http/listen.ts'
import { createSender } from '../sender.ts'

type Answerer = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>

/** Forwards requests, except those that `answer` has answered, and the header fields that `keeps` keeps. */
async function startProxy(
  t: Test,
  target: string,
  answer: Answerer,
  keeps: (header: string) => boolean = () => true,
): Promise<string> {
  const server = createServer(async (request, response) => {
    if (await answer(request, response)) return
    const { method, url, headers } = request
    const forwarded = httpRequest(`${target}${url}`, { method, headers }, (answered) => {
      const kept = answered.rawHeaders.filter((_, i, all) => keeps(all[i - (i % 2)]))
      response.writeHead(answered.statusCode!, kept)
      answered.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  // A slow machine may need longer than the default of 5 s for the next request of a connection.
  server.keepAliveTimeout = 60_000
  const port = await listen(t, server)
  return `http://127.0.0.1:${port}`
}

const isList = ({ method, url }: IncomingMessage): boolean =>
  method === 'GET' && /^\/v1\/projects(\?|$)/.test(url!)
const isCreate = ({ method, url }: IncomingMessage): boolean => method === 'POST' && url === '/v1/projects'

const { url, key } = await startServer(t)
/** The time of a run depends on the size of the document, and what these tests show does not. */
const spec = join(t.testdir({}), 'openapi.json')
const { paths, components, webhooks: _webhooks, ...document } = contract
const asked = /^\/(projects|users|user\/api-keys)(\/\{id\})?$|^\/user\/profile$|^\/events\/stream$/
const some = Object.fromEntries(Object.entries(paths).filter(([path]) => asked.test(path)))
const reached: Record<string, Record<string, unknown>> = { securitySchemes: components.securitySchemes }
function reach(node: unknown): void {
  for (const [, kind, name] of JSON.stringify(node).matchAll(/"#\/components\/(\w+)\/([\w.-]+)"/g)) {
    if (reached[kind]?.[name] !== undefined) continue
    const component = (components as Record<string, any>)[kind][name]
    reached[kind] = { ...reached[kind], [name]: component }
    reach(component)
  }
}
reach(some)
writeFileSync(spec, JSON.stringify({ ...document, paths: some, components: reached }))

const run = (...args: string[]) => runContractHere('--spec', spec, '--key', key, ...args)
const operations = ['listProjects', 'createProject', 'getProject'].flatMap((id) => ['--operation', id])
/** Two runs with the operations of a list and its items. */
const runTwice = (proxy: string, ...args: string[]) =>
  run('--url', proxy, '--seed', '7', '--runs', '2', ...operations, ...args)

t.test('no shape of an answer ends the run', async (t) => {
  const texts: Array<[string, string]> = [
    ['null', 'application/json'],
    ['"text"', 'application/json'],
    ['[]', 'application/json'],
    ['{}', 'application/json'],
    ['{"data": null, "pagination": null}', 'application/json'],
    ['{"data": [null, 1, {}], "pagination": {"total": "many"}}', 'application/json'],
    ['{"data": [', 'application/json'],
    ['<html>', 'text/html'],
    ['', 'application/json'],
  ]
  /** The wrong answers by operation, for each run. */
  const runs: Array<Record<string, [text: string, type: string] | undefined>> = isLongForm
    ? texts.flatMap((text) => [
        { listProjects: text, createProject: text },
        { listProjects: text },
        { createProject: text },
      ])
    : texts.flatMap((text, i) =>
        i % 2 === 0 ? { listProjects: text, createProject: texts[(i + 1) % texts.length] } : [],
      )
  for (const broken of runs) {
    const proxy = await startProxy(t, url, (request, response) => {
      const answered = isList(request) ? 'listProjects' : isCreate(request) ? 'createProject' : ''
      const answer = broken[answered]
      if (answer === undefined || request.headers.authorization === undefined) return false
      request.resume()
      const [text, type] = answer
      response.writeHead(answered === 'listProjects' ? 200 : 201, { 'content-type': type }).end(text)
      return true
    })
    const junit = join(t.testdir({}), 'report.xml')
    const { code, out, err } = await runTwice(proxy, '--junit', junit)
    t.equal(code, 1, JSON.stringify(broken))
    const report = readFileSync(junit, 'utf8')
    for (const operation of Object.keys(broken)) {
      t.match(out, new RegExp(`^${operation}$`, 'm'), 'the operation has findings')
      t.match(report, `<testcase classname="${operation}"`)
    }
    t.match(out, /^\d+ findings? in \d of 3 operations: /m)
    t.notMatch(out + err, /^ {4}at /m, 'no stack trace')
  }
})

t.test('a request without a response is a finding, and the other operations are tested', async (t) => {
  const proxy = await startProxy(t, url, (request, response) => {
    if (!isCreate(request)) return false
    response.destroy()
    return true
  })
  const { code, out } = await runTwice(proxy, '--operation', 'getProfile')
  t.equal(code, 1)
  t.match(out, /^createProject\n {2}no-response \(\w+\).*\n {4}expected a response\n/m)
  t.match(out, /^· Not checked: access, because POST .+: createProject\.$/m)
  t.match(out, /[12] of 4 operations succeeded/)
})

t.test('the message of a request without a response has no key', async (t) => {
  const cutting = createServer(({ method }, response) =>
    method === 'HEAD' ? response.end() : response.destroy(),
  )
  const sender = createSender(`http://127.0.0.1:${await listen(t, cutting)}`, {
    counts: { requests: 0, waits: 0, waited: 0 },
  })
  const [operation] = operationsOf({
    paths: { '/x': { get: { operationId: 'x', security: [{ key: [] }], responses: {} } } },
    components: { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'k' } } },
  })
  await t.rejects(sender.send(operation, { path: {}, query: {}, headers: {} }, 'a secret'), {
    name: 'Error',
    message: /^GET http:\/\/127\.0\.0\.1:\d+\/x\?k=\$KEY: /,
  })
})

t.test('a server that ends in the middle, and a run that is out of time, exit with 2', async (t) => {
  let left = 60
  const proxy = await startProxy(t, url, (_request, response) => {
    if (--left > 0) return false
    response.destroy()
    return true
  })
  const junit = join(t.testdir({}), 'report.xml')
  const ended = await runTwice(proxy, '--junit', junit)
  t.equal(ended.code, 2)
  t.match(ended.out, /^· Not checked: valid, because .+: createProject, listProjects, getProject\.$/m)
  t.match(ended.out, /^No finding, but not everything was checked: /m)
  t.match(readFileSync(junit, 'utf8'), '<error type="unfinished"')

  const slow = await startProxy(t, url, async () => {
    await sleep(100)
    return false
  })
  const short = await run('--url', slow, '--runs', '300', '--time', '1')
  t.equal(short.code, 2)
  t.match(short.out, /^· Not checked: valid, because the time was up: /m)
})

t.test('a stream that is cut is a finding', async (t) => {
  const proxy = await startProxy(t, url, (request, response) => {
    if (!request.url!.startsWith('/v1/events/stream')) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('id: 1\n', () => response.destroy())
    return true
  })
  const { code, out, err } = await run(
    '--url',
    proxy,
    '--runs',
    '2',
    '--operation',
    'streamEvents',
    '--operation',
    'getProfile',
  )
  t.equal(code, 1)
  t.match(out, /^streamEvents\n {2}no-response \(\w+\)/m)
  t.match(out, /^\d+ findings? in 1 of 2 operations: /m)
  t.notMatch(out + err, /^ {4}at /m, 'no stack trace')
})

t.test('a missing rate limit is a finding where the contract declares its header fields', async (t) => {
  const proxy = await startProxy(
    t,
    url,
    () => false,
    (name) => name.toLowerCase() !== 'ratelimit',
  )
  const { code, out } = await run('--url', proxy, '--runs', '2', '--operation', 'getProfile')
  t.equal(code, 1)
  t.match(out, /^getProfile\n {2}header \(\w+\).*\n {4}expected RateLimit with 200\n/m)
  t.notMatch(out, 'RateLimit-Policy with 200')
})

t.test('Ctrl-C ends the run with a report', async (t) => {
  let child: ChildProcess | null = null
  let left = 60
  const proxy = await startProxy(t, url, () => {
    if (--left === 0) child!.kill('SIGINT')
    return false
  })
  const junit = join(t.testdir({}), 'report.xml')
  const args = ['--spec', spec, '--url', proxy, '--key', key, '--runs', '50', '--junit', junit, ...operations]
  const { code, out } = await startContractCommand(args, (started) => (child = started))
  t.equal(code, 2)
  t.match(out, /^· Not checked: valid, because the run was interrupted: /m)
  t.match(readFileSync(junit, 'utf8'), '<error type="unfinished"')
})
