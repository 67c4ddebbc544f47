// Answers that are streams: events with typed data, and files.
import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import ts from 'typescript'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { generateProject } from '../project.ts'

const count = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
/** The events of OpenAPI 3.2: the item is the event itself. */
const event = {
  type: 'object',
  required: ['data'],
  properties: { event: { enum: ['row', 'end'] }, data: count },
}
const operation = (operationId: string, type: string, schema: object, keyword = 'schema'): object => ({
  get: {
    operationId,
    tags: ['streams'],
    responses: { 200: { description: 'It.', content: { [type]: { [keyword]: schema } } } },
  },
})
const folder = t.testdir({
  'streams.json': JSON.stringify({
    openapi: '3.2.0',
    info: { title: 'Streams', version: '1' },
    paths: {
      '/counts': operation('listCounts', 'text/event-stream', count),
      '/endless': operation('listEndless', 'text/event-stream', count),
      '/wrong': operation('listWrong', 'text/event-stream', count),
      '/wrong-later': operation('listWrongLater', 'text/event-stream', count),
      '/events': operation('listEvents', 'text/event-stream', event, 'itemSchema'),
      '/wrong-events': operation('listWrongEvents', 'text/event-stream', event, 'itemSchema'),
      '/lines': operation('listLines', 'application/jsonl', count, 'itemSchema'),
      '/slow': operation('listSlow', 'text/event-stream', count),
      '/file': operation('getFile', 'application/octet-stream', { type: 'string', format: 'binary' }),
    },
  }),
})
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
const project = join(folder, 'server')
await generateProject(join(folder, 'streams.json'), project)
writeFileSync(
  join(project, 'handlers/streams.ts'),
  `import { Readable } from 'node:stream'
import type { Handlers } from '../generated/handler.ts'

async function* counts() {
  yield { event: 'first', id: '1', data: { n: 1, row: 2 } }
  yield { data: { n: 2 } }
}

async function* endless() {
  try {
    for (let n = 0; ; n++) {
      yield { data: { n } }
      await new Promise((done) => setTimeout(done, 5))
    }
  } finally {
    console.log('the client has left')
  }
}

async function* wrong(isLater: boolean) {
  if (isLater) yield { data: { n: 1 } }
  yield { data: JSON.parse('{"n":"one"}') as { n: number } }
}

async function* slow() {
  await new Promise((done) => setTimeout(done, 200))
  yield { data: { n: 1 } }
}

async function* events(name: string) {
  yield { event: name as 'row', data: { n: 1, row: 2 }, id: '1' }
  yield { data: { n: 2 } }
}

async function* lines() {
  yield { n: 1, row: 2 }
  yield { n: 3 }
}

export const streams = {
  listSlow: async () => ({ status: 200, body: slow() }),
  listEvents: async () => ({ status: 200, body: events('row') }),
  listWrongEvents: async () => ({ status: 200, body: events('column') }),
  listLines: async () => ({ status: 200, body: lines() }),
  listCounts: async () => ({ status: 200, body: counts() }),
  listEndless: async () => ({ status: 200, body: endless() }),
  listWrong: async () => ({ status: 200, body: wrong(false) }),
  listWrongLater: async () => ({ status: 200, body: wrong(true) }),
  getFile: async () => ({ status: 200, body: Readable.from([1, 2].map((n) => Buffer.alloc(70_000, n))) }),
} satisfies Handlers<'streams'>
`,
)
const { createServer } = await import(join(project, 'generated/server.ts'))
const app = await createServer()
const address = await app.listen({ host: '127.0.0.1', port: 0 })
t.teardown(() => app.close())

t.test('events have the data that their schema names', async (t) => {
  const response = await fetch(`${address}/counts`)
  t.equal(response.headers.get('content-type'), 'text/event-stream')
  t.equal(await response.text(), 'event: first\nid: 1\ndata: {"n":1}\n\ndata: {"n":2}\n\n')
})

t.test('an item of itemSchema is an event, or a line of JSON', async (t) => {
  const get = async (path: string): Promise<string> => (await fetch(`${address}${path}`)).text()
  t.equal(await get('/events'), 'event: row\ndata: {"n":1}\n\ndata: {"n":2}\n\n')
  t.equal(await get('/lines'), '{"n":1}\n{"n":3}\n')
  const mock = await createMock({ document: await readOpenapi(join(folder, 'streams.json')) })
  t.teardown(() => mock.close())
  t.match((await mock.inject('/events')).payload, /^event: (row|end)\ndata: \{"n":\d+\}\n\n$/)
  t.match((await mock.inject('/lines')).payload, /^\{"n":\d+\}\n$/)
})

t.test('a stream without events sends comments', async (t) => {
  const { api } = await import(join(project, 'generated/plugin.ts'))
  const { handlers } = await import(join(project, 'generated/handlers.ts'))
  const app = Fastify()
  t.teardown(() => app.close())
  const authenticate = async (): Promise<void> => {}
  await app.register(api, { handlers, authenticate, keepAliveSeconds: 0.05 } as never)
  const { payload } = await app.inject('/slow')
  t.match(payload, /^(: keep-alive\n\n)+data: \{"n":1\}\n\n$/)
})

t.test('the handler ends when the client leaves', async (t) => {
  const lines = t.capture(console, 'log')
  const seen: unknown[] = []
  const leave = new AbortController()
  const response = await fetch(`${address}/endless`, { signal: leave.signal })
  const { value } = await response.body!.getReader().read()
  t.match(Buffer.from(value!).toString(), 'data: {"n":0}')
  leave.abort()
  await waitUntil(() => seen.push(...lines()) > 0, 'the end of the handler')
})

t.test('an event that its schema does not allow is a 500, and ends a stream that has begun', async (t) => {
  const lines = t.capture(console, 'error')
  const message = (): string => {
    const [{ args }, ...others] = lines()
    t.strictSame(others, [], 'one line in the log')
    return args[0]
  }
  t.equal((await fetch(`${address}/wrong-events`)).status, 500)
  t.match(message(), 'listWrongEvents answered: an item at "/event" must be equal to one of')
  t.equal((await fetch(`${address}/wrong`)).status, 500)
  t.match(message(), 'listWrong answered: the data of an event at "/n" must be integer')
  await t.rejects(fetch(`${address}/wrong-later`).then((response) => response.text()))
  t.match(message(), 'listWrongLater answered: the data of an event at "/n" must be integer')
})

t.test('a file is sent as a stream', async (t) => {
  const bytes = Buffer.from(await (await fetch(`${address}/file`)).arrayBuffer())
  t.same([bytes.length, bytes[0], bytes.at(-1)], [140_000, 1, 2])
})

t.test('the data of events has its type', (t) => {
  const { config } = ts.readConfigFile(join(project, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, project)
  const file = join(project, 'handlers/streams.ts')
  const errors = (): string[] =>
    ts
      .getPreEmitDiagnostics(ts.createProgram([file], options, compilerHost(options)))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  t.strictSame(errors(), [])
  writeFileSync(file, ts.sys.readFile(file)!.replace('{ n: 2 }', "{ n: 'two' }"))
  t.match(errors().join(), /data: \{ n: string.*is not assignable/)
  writeFileSync(
    file,
    ts.sys.readFile(file)!.replace("n: 'two'", 'n: 2').replace('{ n: 3 }', "{ n: 'three' }"),
  )
  t.match(errors().join(), /n: string.*is not assignable/)
  t.end()
})
