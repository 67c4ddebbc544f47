// The size of a body follows from its schema, and a bad body costs little: counts are checked before
// contents.
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Problem } from '../../infra/errors.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'
import { check } from '../../infra/validation/validators.ts'
import { startServer } from '../support/server/server.ts'

/** Milliseconds of CPU for a bad body, with space for a slow machine. Before, it was 150 to 270. */
const maxCpu = 30

const repeated = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join()

const bodies: Array<[OperationId, string, string]> = [
  [
    'createProject',
    'numbers as metadata',
    `{"name":"a","metadata":{${repeated(105_000, (i) => `"k${i}":${i}`)}}}`,
  ],
  ['createProject', 'empty tags', `{"name":"a","tags":[${repeated(340_000, () => '""')}]}`],
  ['createProject', 'unknown fields', `{${repeated(4_900, (i) => `"k${i}":1`)}}`],
  ['createChat', 'empty messages', `{"messages":[${repeated(340_000, () => '{}')}]}`],
  ['createChat', 'messages with nulls', `{"messages":[${repeated(1_600, () => '{"role":null}')}]}`],
  ['batchFiles', 'empty ids', `{"action":"trash","ids":[${repeated(29_000, () => '""')}]}`],
  ['recordUsage', 'empty events', `{"events":[${repeated(340_000, () => '{}')}]}`],
  ['recordUsage', 'events with nulls', `{"events":[${repeated(1_000, () => '{"id":null}')}]}`],
  ['createChat', 'a long message', `{"message":"${'x'.repeat(1_000_000)}"}`],
  ['createChat', 'a long message of escapes', `{"message":"${'\\"'.repeat(500_000)}"}`],
]

function problemsOf(id: OperationId, text: string): Problem[] {
  const problems: Problem[] = []
  check(
    (operations[id] as OperationInfo).validators.body,
    parseStrictJson(Buffer.from(text)),
    'body',
    problems,
  )
  return problems
}

t.test('a bad body is refused with little CPU', async (t) => {
  for (const [id, title, text] of bodies) {
    const runs = Array.from({ length: 6 }, () => {
      const before = process.cpuUsage()
      try {
        t.not(problemsOf(id, text).length, 0, title)
      } catch (error) {
        t.match(error, { code: 'INVALID_REQUEST' }, title)
      }
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    })
    const cpu = Math.min(...runs)
    t.ok(cpu < maxCpu, `${title}: ${cpu} ms`)
  }
})

t.test('the contents of a list or map with too many items are not looked at', async (t) => {
  const fieldsOf = (text: string): string[] =>
    problemsOf('createProject', text).map(({ field, constraint }) => `${constraint} ${field}`)
  t.same(fieldsOf(`{"name":"a","tags":[${repeated(300, () => '1')}]}`), ['maxItems tags'])
  t.same(fieldsOf(`{"name":"a","metadata":{${repeated(300, (i) => `"k${i}":1`)}}}`), [
    'maxProperties metadata',
  ])
  t.same(fieldsOf('{"name":"a","tags":[1],"metadata":{"k":1}}'), ['type tags[0]', 'type metadata.k'])
})

t.test('a body without long texts has at most 64 KiB, others have 1 MiB', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const large = 'x'.repeat(64 * 1024)
  const project = await client.post('/projects', { name: large })
  t.equal(project.status, 413)
  t.match(project.body.error, { message: /65536/, details: { constraint: 'max_bytes' } })
  t.equal((await client.post('/ai/chat', { message: large })).status, 200)
  t.equal((await client.post('/ai/chat', { message: large.repeat(17) })).status, 413)
  const longTexts = Object.values<OperationInfo>(operations).filter(
    ({ body }) => body?.maxBytes !== undefined,
  )
  t.same(longTexts.map(({ id }) => id).toSorted(), [
    'batchFiles',
    'createChat',
    'createChatCompletion',
    'createDocument',
    'createDocuments',
    'createEmbeddings',
    'createResponse',
    'createSession',
    'receiveStripeEvent',
    'recordUsage',
    'sendToolResults',
    'streamChat',
    'updateDocument',
    'updateMessage',
    'updateSession',
  ])
})
