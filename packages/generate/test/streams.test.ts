// Answers that are streams: events with typed data, and files.
import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'
import { generateProject } from '../project.ts'

const count = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
const operation = (operationId: string, type: string, schema: object): object => ({
  get: {
    operationId,
    tags: ['streams'],
    responses: { 200: { description: 'It.', content: { [type]: { schema } } } },
  },
})
const folder = t.testdir({
  'streams.json': JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Streams', version: '1' },
    paths: {
      '/counts': operation('listCounts', 'text/event-stream', count),
      '/endless': operation('listEndless', 'text/event-stream', count),
      '/wrong': operation('listWrong', 'text/event-stream', count),
      '/wrong-later': operation('listWrongLater', 'text/event-stream', count),
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

export const streams = {
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
  t.end()
})
