// The command line of the client package, run as `npx platform` runs it.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  existsSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { verifyWebhook } from '../../../generated/client/index.js'
import { newWebhookSecret } from '../../../services/webhooks/signature.ts'
import { cuttingProxy, type CuttingProxy } from '../../../test/support/http/cutting-proxy.ts'
import { listen } from '../../../test/support/http/listen.ts'
import { openReceiver } from '../../../test/support/http/receiver.ts'
import { startWorkingServer } from '../../../test/support/server/working-server.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

const program = resolve(import.meta.dirname, '../../../generated/client/bin.js')
const server = await startWorkingServer(t)
const person = await server.person()
const home = t.testdir()
const env = { PLATFORM_URL: server.url, PLATFORM_API_KEY: person.key }

interface Run {
  child: ChildProcessWithoutNullStreams
  /** What was printed so far. */
  out: string
  err: string
  /** The exit code; null if a signal ended it. */
  ended: Promise<number | null>
}

function start(args: string[], { more = env, input = '' }: { more?: object; input?: string } = {}): Run {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), ...more },
  })
  const run: Run = {
    child,
    out: '',
    err: '',
    ended: new Promise((resolve) => child.once('close', (code) => resolve(code))),
  }
  child.stdout.on('data', (chunk) => (run.out += String(chunk)))
  child.stderr.on('data', (chunk) => (run.err += String(chunk)))
  child.stdin.end(input)
  t.teardown(() => child.kill('SIGKILL'))
  return run
}

async function platform(
  args: string[],
  options?: Parameters<typeof start>[1],
): Promise<{ code: number | null; out: string; err: string }> {
  const run = start(args, options)
  const code = await run.ended
  return { code, out: run.out, err: run.err }
}

/** What a command prints as lines of JSON. */
async function json(t: Test, args: string[], options?: Parameters<typeof start>[1]): Promise<any[]> {
  const { code, out, err } = await platform([...args, '--json'], options)
  t.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

t.test('login checks the key and saves it for its owner only', async (t) => {
  const file = join(home, 'config/platform/config.json')
  const login = ['login', '--url', server.url]
  const wrong = await platform(login, { more: {}, input: `${person.key.slice(0, -1)}\n` })
  t.equal(wrong.code, 1)
  t.match(wrong.err, /^platform: [^\n]+ \(request req_\w+\)\n$/)
  t.notOk(existsSync(file), 'a wrong key is not saved')
  t.match(await platform(['projects', 'list'], { more: {} }), { code: 1, err: /platform login/ })

  const right = await platform(login, { more: {}, input: `${person.key}\n` })
  t.equal(right.code, 0, right.err)
  t.notMatch(right.out + right.err, person.key)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
  t.equal((await platform(['projects', 'list'], { more: {} })).code, 0)

  const asked: Array<string | undefined> = []
  const other = createServer((request, response) => {
    asked.push(request.headers.authorization)
    response.writeHead(401).end()
  })
  const url = `http://127.0.0.1:${await listen(t, other)}`
  t.match(await platform(['projects', 'list'], { more: { PLATFORM_URL: url } }), { code: 1, err: /no key/ })
  await platform(['projects', 'list'], { more: { PLATFORM_URL: url, PLATFORM_API_KEY: 'plat_live_other' } })
  t.strictSame(asked, ['Bearer plat_live_other'], 'the saved key goes to its server only')

  t.equal((await platform(['logout'], { more: {} })).code, 0)
  t.notOk(existsSync(file))
})

t.test('the quickstart: create, list, any request, and one line for each error', async (t) => {
  const [project] = await json(t, ['projects', 'create', 'Launch', '--tag', 'q4', '--tag', 'web'])
  t.match(project, { name: 'Launch', tags: ['q4', 'web'] })
  const list = await platform(['projects', 'list'])
  t.equal(list.out, `${project.id}  active  Launch\n`)
  const path = `/v1/projects/${project.id}`
  const [changed] = await json(t, ['api', 'put', path, '--data', '{"description": "New"}'])
  t.equal(changed.version, 2)
  writeFileSync(join(home, 'body.json'), '{"description": "Newer"}')
  t.match(await json(t, ['api', 'PUT', path, '--data', '@body.json']), [{ version: 3 }])
  t.match(await json(t, ['api', 'GET', '/v1/projects?limit=1']), [{ pagination: { total: 1 } }])
  const failed = await platform(['api', 'POST', '/v1/projects', '--data', '{"name": ""}'])
  t.match(failed, { code: 1, out: /INVALID_REQUEST/, err: /^platform: 400 \(request req_\w+\)\n$/ })

  for (const [args, message] of [
    [['projects', 'create', ''], /\(request req_\w+\)/],
    [['projects', 'create'], /takes 1 arguments/],
    [['projects', 'list', '--tag', 'x'], /has no option --tag/],
    [['projects', 'list', '--nothing'], /--nothing/],
    [['project'], /no command `project`/],
    [['constructor'], /no command/],
    [['files', 'cp', 'a', 'b'], /platform:/],
    [['files', 'cp', 'platform:missing.txt', 'b'], /There is no file/],
    [['files', 'cp', 'missing.txt', 'platform:'], /missing\.txt/],
    [['api', 'GET', 'projects'], /starts with a slash/],
    [['webhooks', 'listen'], /--forward-to/],
  ] as Array<[string[], RegExp]>) {
    const { code, out, err } = await platform(args)
    t.equal(code, 1, args.join(' '))
    t.equal(out, '')
    t.match(err, message)
    t.match(err, /^platform: [^\n]+\n$/, 'one line')
  }
  const down = await platform(['projects', 'list'], { more: { ...env, PLATFORM_URL: 'http://127.0.0.1:9' } })
  t.match(down, { code: 1, err: /^platform: [^\n]+\n$/ })
  t.match(await platform(['--help']), { code: 0, out: /webhooks listen/ })
})

t.test('a folder is uploaded and downloaded again', async (t) => {
  const files: Record<string, string> = {
    'a.txt': 'a',
    'deep/b c.txt': 'b',
    'deep/er/é.txt': '',
    'zero.bin': '',
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(home, 'tree', name, '..'), { recursive: true })
    writeFileSync(join(home, 'tree', name), content)
  }
  symlinkSync('/etc/passwd', join(home, 'tree/link'))
  t.match(await platform(['files', 'cp', 'tree', 'platform:']), { code: 1, err: /--recursive/ })
  const up = await platform(['files', 'cp', '-r', 'tree', 'platform:backup/'])
  t.equal(up.code, 0, up.err)
  t.match(up.err, /link is not a file: left out/)
  const listed = await json(t, ['files', 'ls', 'backup', '-r'])
  t.strictSame(
    listed.map(({ path, name }) => `${path}/${name}`).sort(),
    Object.keys(files)
      .map((name) => `backup/tree/${name}`)
      .sort(),
  )
  t.equal((await json(t, ['files', 'ls', 'platform:backup/tree'])).length, 2, 'one folder')
  const down = await platform(['files', 'cp', '-r', 'platform:backup', 'again'])
  t.equal(down.code, 0, down.err)
  for (const [name, content] of Object.entries(files))
    t.equal(readFileSync(join(home, 'again/tree', name), 'utf8'), content, name)
  const found = readdirSync(join(home, 'again'), { recursive: true, withFileTypes: true })
  t.equal(found.filter((each) => each.isFile()).length, 4, 'and no parts')

  const one = await platform(['files', 'cp', 'platform:backup/tree/a.txt', 'again/'])
  t.equal(one.code, 0, one.err)
  t.equal(readFileSync(join(home, 'again/a.txt'), 'utf8'), 'a')
  const { id } = listed.find(({ name }) => name === 'a.txt')
  t.equal((await platform(['files', 'cp', `platform:${id}`, 'by-id.txt'])).code, 0)
  t.equal(readFileSync(join(home, 'by-id.txt'), 'utf8'), 'a')
})

t.test('an upload continues after a cut, and in a later run', async (t) => {
  const bytes = randomBytes(3_000_000)
  writeFileSync(join(home, 'film.mp4'), bytes)
  const proxy: CuttingProxy = await cuttingProxy(t, server.url, {
    next: () => (proxy.cuts < 2 ? 1_000_000 : null),
  })
  const [file] = await json(t, ['files', 'cp', 'film.mp4', 'platform:films/'], {
    more: { ...env, PLATFORM_URL: proxy.url },
  })
  t.equal(proxy.cuts, 2)
  t.match(file, { name: 'film.mp4', path: 'films', bytes: bytes.length })
  const stored = await person.api.storage.files.download(file.id)
  t.ok(bytes.equals(Buffer.from(await stored.arrayBuffer())))

  const records = join(home, 'config/platform/uploads')
  t.strictSame(readdirSync(records), [], 'nothing is left of a complete upload')
  // Ends in the middle: the proxy forwards a part and then keeps the connection silent.
  let limit: number | null = 1_000_000
  const silent = await cuttingProxy(t, server.url, { next: () => limit, how: 'silence' })
  const more = { ...env, PLATFORM_URL: silent.url }
  const first = start(['files', 'cp', 'film.mp4', 'platform:later/'], { more })
  await waitUntil(() => silent.cuts > 0, 'the cut')
  first.child.kill('SIGKILL')
  await first.ended
  const [record] = readdirSync(records)
  const id = readFileSync(join(records, record), 'utf8')
  const before = await waitUntil(async () => (await person.api.storage.uploads.get(id)).offset, 'some bytes')
  t.ok(before > 0 && before < bytes.length, `${before} bytes have arrived`)
  limit = null
  const [later] = await json(t, ['files', 'cp', 'film.mp4', 'platform:later/'], { more })
  t.equal((await person.api.storage.uploads.get(id)).file_id, later.id, 'the same upload')
  t.equal(later.sha256, file.sha256)
  t.strictSame(readdirSync(records), [])

  writeFileSync(join(records, record), 'upl_01jd6y8m5qe8btc4y5w1r0n3fz')
  t.match(await json(t, ['files', 'cp', 'film.mp4', 'platform:later/'], { more }), [{ name: 'film.mp4' }])
  t.strictSame(readdirSync(records), [], 'an upload that is gone is started again')
})

/** A proxy of HTTP that cuts the body of each of the next downloads after a number of bytes. */
async function downloadProxy(
  t: Test,
  cuts: number[],
): Promise<{ url: string; ranges: Array<string | undefined> }> {
  const ranges: Array<string | undefined> = []
  const proxy = createServer((request, response) => {
    void forward(request, response).catch(() => response.destroy())
  })
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization = '', range } = request.headers
    const headers = { authorization, ...(range !== undefined && { range }) }
    const answer = await fetch(server.url + request.url, { headers })
    const isDownload = request.url!.endsWith('/download')
    if (isDownload) ranges.push(range)
    const cut = isDownload ? (cuts.shift() ?? Infinity) : Infinity
    const own = ['content-type', 'content-length', 'content-range', 'etag'].flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    response.writeHead(answer.status, Object.fromEntries(own))
    let sent = 0
    for await (const chunk of Readable.fromWeb(answer.body as any)) {
      if (sent + chunk.length >= cut) {
        response.write(chunk.subarray(0, cut - sent), () => response.destroy())
        return
      }
      sent += chunk.length
      if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve))
    }
    response.end()
  }
  return { url: `http://127.0.0.1:${await listen(t, proxy)}`, ranges }
}

t.test('a download continues after a cut, and a wrong content is not kept', async (t) => {
  const bytes = randomBytes(2_000_000)
  const { id } = await person.api.storage.files.upload({ file: new File([bytes], 'data.bin'), path: 'down' })
  const proxy = await downloadProxy(t, [500_000, 700_000])
  const more = { ...env, PLATFORM_URL: proxy.url }
  const { code, err } = await platform(['files', 'cp', 'platform:down/data.bin', 'data.bin'], { more })
  t.equal(code, 0, err)
  t.ok(bytes.equals(readFileSync(join(home, 'data.bin'))))
  t.match(proxy.ranges, [undefined, /^bytes=\d+-$/, /^bytes=\d+-$/])
  t.equal(proxy.ranges.length, 3)

  // A part that an earlier run left, but of other bytes.
  const { sha256 } = await person.api.storage.files.get(id)
  const part = join(home, `data.bin.${sha256.slice(0, 16)}.part`)
  writeFileSync(part, randomBytes(1_000_000))
  rmSync(join(home, 'data.bin'))
  const wrong = await platform(['files', 'cp', 'platform:down/data.bin', 'data.bin'], { more })
  t.match(wrong, { code: 1, err: /has changed during the download/ })
  t.notOk(existsSync(join(home, 'data.bin')))
  t.notOk(existsSync(part))
  writeFileSync(part, bytes.subarray(0, 1_500_000))
  t.equal((await platform(['files', 'cp', `platform:${id}`, 'data.bin'], { more })).code, 0)
  t.ok(bytes.equals(readFileSync(join(home, 'data.bin'))))
  t.equal(proxy.ranges.at(-1), 'bytes=1500000-', 'the part of an earlier run is continued')
})

t.test('names of a server lead out of no folder, and texts command no terminal', async (t) => {
  const hostile = createServer((request, response) => {
    if (request.url!.includes('/chat/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const text = JSON.stringify({ delta: 'a\u001b]0;evil\u0007\nb' })
      const done = JSON.stringify({ message: { citations: [{ name: 'c\u001b[2J' }] } })
      response.end(`event: message.delta\ndata: ${text}\n\nevent: message.completed\ndata: ${done}\n\n`)
      return
    }
    const file = { id: 'file_x', sha256: 'x'.repeat(64), bytes: 1 }
    const data = [{ ...file, path: ['top', '..', '..'].join('/'), name: 'evil.txt' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data, pagination: { has_more: false, next_cursor: null } }))
  })
  const more = { ...env, PLATFORM_URL: `http://127.0.0.1:${await listen(t, hostile)}` }
  const copied = await platform(['files', 'cp', '-r', 'platform:top', 'top'], { more })
  t.match(copied, { code: 1, err: /The name "\.\." cannot be a file here/ })
  t.notOk(existsSync(join(home, 'top')))
  const answer = await platform(['chat', 'x'], { more })
  t.strictSame(answer, { code: 0, out: 'a]0;evil\nb\n', err: 'Sources: c[2J\n' })
})

t.test('chat prints the answer and its sources', async (t) => {
  const base = await person.api.ai.knowledge.create({ name: 'Handbook' })
  const text = '# Leave\n\nEveryone has 30 days of paid leave a year.\n'
  const file = new File([text], 'leave.md', { type: 'text/markdown' })
  const document = await person.api.ai.knowledge.documents.create(base.id, { file })
  await waitUntil(
    async () => (await person.api.ai.knowledge.documents.get(base.id, document.id)).status === 'ready',
    'the document',
  )
  const question = 'How many days of paid leave are there?'
  const answer = await platform(['chat', question, '--knowledge-base', base.id])
  t.match(answer, { code: 0, out: /30 days of paid leave.*\n$/, err: 'Sources: leave.md\n' })
  const piped = await platform(['chat', '-', '--knowledge-base', base.id, '--json'], { input: question })
  t.match(JSON.parse(piped.out), { status: 'completed', message: { role: 'assistant' } })
  t.match(await platform(['chat', question, '--knowledge-base', 'kb_01jd6y8m5qe8btc4y5w1r0n3fz']), {
    code: 1,
    out: '',
    err: /request req_/,
  })
})

t.test('events are followed from a position, by type, and through a pipe that closes', async (t) => {
  const tail = start(['events', 'tail', '--after', 'start', '--type', 'project.created', '--json'])
  await waitUntil(() => tail.out.includes('Launch'), 'the first event')
  const { id } = await person.api.projects.create({ name: 'Followed' })
  await waitUntil(() => tail.out.includes(id), 'the new event')
  tail.child.kill('SIGTERM')
  await tail.ended
  const lines = tail.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.ok(lines.every(({ type }) => type === 'project.created'))

  const text = start(['events', 'tail', '--after', 'start', '--type', 'project.created'])
  await waitUntil(() => text.out.includes(id), 'the text')
  text.child.kill('SIGTERM')
  const position = text.out
    .trim()
    .split('\n')
    .find((line) => line.includes(id))!
    .split('  ')
    .at(-1)!
  const rest = start(['events', 'tail', '--after', position, '--type', 'project.created'])
  const next = await person.api.projects.create({ name: 'After' })
  await waitUntil(() => rest.out.includes(next.id), 'the event after the position')
  rest.child.kill('SIGTERM')
  t.notMatch(rest.out, id)

  const closed = start(['events', 'tail', '--after', 'start'])
  await waitUntil(() => closed.out !== '', 'a line')
  closed.child.stdout.destroy()
  await person.api.projects.create({ name: 'Unread' })
  t.equal(await closed.ended, 0, 'EPIPE is no error')
  t.equal(closed.err, '')
})

t.test('webhooks listen sends signed webhooks to a local address', async (t) => {
  const receiver = await openReceiver(t, { secret: newWebhookSecret() })
  const args = ['webhooks', 'listen', '--forward-to', receiver.url, '--type', 'project.created']
  const own = start([...args, '--json', '--secret', receiver.secret])
  await waitUntil(() => own.err.includes(receiver.secret), 'the note')
  const { id } = await person.api.projects.create({ name: 'Forwarded' })
  const webhook = await waitUntil(async () => {
    // The stream may have begun after the first change.
    await person.api.projects.create({ name: 'More' })
    return receiver.received[0]
  }, 'a webhook')
  t.ok(webhook.verified, "the library's verdict")
  t.equal(webhook.event.type, 'project.created')
  const event = await verifyWebhook({
    payload: webhook.body,
    headers: webhook.headers,
    secret: receiver.secret,
  })
  t.equal(event.id, webhook.headers['webhook-id'])
  t.match(JSON.parse(own.out.split('\n')[0]), { type: 'project.created', status: 200, error: null })
  receiver.answer = 'hangup'
  await person.api.projects.create({ name: 'Lost' })
  await waitUntil(() => own.out.includes('"status":null'), 'the failure')
  receiver.answer = { status: 500 }
  await person.api.projects.create({ name: 'Failed' })
  await waitUntil(() => own.out.includes('"status":500'), 'the answer')
  own.child.kill('SIGTERM')
  t.ok(id)

  const random = start(args)
  await waitUntil(() => /whsec_[\w+/]{43}=/.test(random.err), 'a secret of its own')
  random.child.kill('SIGTERM')
  t.match(await platform([...args, '--secret', 'x']), { code: 1, err: /whsec_/ })
  t.match(await platform(['webhooks', 'listen', '--forward-to', 'localhost']), { code: 1, err: /is a URL/ })
})
