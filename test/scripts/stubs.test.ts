// `generate --stubs`: stubs of handlers and tests, and reports of unused handlers.
import { rm } from 'node:fs/promises'
import t from 'tap'
import ts from 'typescript'
import { miniProject } from '../support/generator/mini-project.ts'

/** The syntax errors, without a type check. */
function syntaxErrors(text: string): string[] {
  const { diagnostics = [] } = ts.transpileModule(text, {
    reportDiagnostics: true,
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext },
  })
  return diagnostics.map(({ messageText }) => String(messageText))
}

t.test('a stub takes what its operation declares and lists its responses', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate({ stubs: true })
  const things = await project.read('handlers/things.ts')
  t.match(
    things,
    '  // POST /v1/things: Make a thing. `things:write`. Body: ThingCreate. Responses: 201 Thing.\n' +
      '  async createThing ({ principal, body }, { db, events }) {\n  }',
  )
  t.match(
    things,
    '  // POST /v1/projects/{id}/use: Use a thing. `things:write`, project role editor. Responses: 204.\n' +
      '  async useThing (request, { db, events }) {\n  }',
    'a handler with project access gets the whole request',
  )
  t.match(
    await project.read('handlers/edge.ts'),
    /GET \/v1\/t:batch: A colon in the path\. Public\. Responses: 200/,
  )
})

t.test('a stub answers 500', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate({ stubs: true })
  const app = await project.build()
  t.teardown(() => app.close())
  const { statusCode, body } = await app.inject({ method: 'GET', url: '/v1/t:batch' })
  t.equal(statusCode, 500)
  t.match(JSON.parse(body), { error: { code: 'SERVER_ERROR' } })
})

t.test('each stub gets the start of a test in the file of its tag, once', async (t) => {
  const project = await miniProject(t.testdir(), {
    'test/webhooks/things.test.ts': "// By hand.\nimport t from 'tap'\n",
    'test/other/other.test.ts': '',
  })
  const printed = await project.generate({ stubs: true })
  t.match(printed, 'test/webhooks/things.test.ts: add a test of createThing by hand')
  t.equal(
    await project.read('test/webhooks/things.test.ts'),
    "// By hand.\nimport t from 'tap'\n",
    'a file with its own way of starting servers is not changed',
  )
  const edge = await project.read('test/edge/edge.test.ts')
  for (const id of ['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch'])
    t.match(edge, `t.fail('complete the test of ${id}`)
  t.match(edge, "await client.post('/strict', {})")
  t.match(edge, 'await client.get(`/numbers/${number}`)')
  t.strictSame(syntaxErrors(edge), [])

  const again = await project.generate({ stubs: true })
  t.notMatch(again, /edge\.test\.ts/)
  t.equal(await project.read('test/edge/edge.test.ts'), edge)
})

t.test('a later stub is appended to the existing tests', async (t) => {
  const project = await miniProject(t.testdir(), { 'test/other/other.test.ts': '' })
  await project.generate({ stubs: true })
  const before = (await project.read('test/things/things.test.ts')).replace(
    /t\.fail\('listThings[^\n]*/,
    't.equal(reply.status, 200)',
  )
  await project.write('test/things/things.test.ts', before)
  await project.write(
    'spec/things.yaml',
    (await project.read('spec/things.yaml')).replaceAll('useThing', 'wearThing'),
  )
  const printed = await project.generate({ stubs: true })
  t.match(printed, /handlers\/things\.ts: useThing is not in the spec/)
  t.match(printed, /handlers\/things\.ts: wrote a stub of wearThing/)
  const now = await project.read('test/things/things.test.ts')
  t.equal(now.slice(0, before.length), before)
  t.match(now.slice(before.length), "t.fail('complete the test of wearThing")
  t.notMatch(now.slice(before.length), /listThings|useThing/)
})

t.test('a module without a tag is reported and not deleted', async (t) => {
  const unused =
    "import type { Handlers } from '../services/handler.ts'\n\n" +
    'export const lamps = {} satisfies Handlers<never>\n'
  const project = await miniProject(t.testdir(), { 'handlers/lamps.ts': unused })
  const printed = await project.generate({ stubs: true })
  t.match(printed, /handlers\/lamps\.ts: no operation has the tag `lamps`/)
  t.equal(await project.read('handlers/lamps.ts'), unused)
  await rm(project.folder, { recursive: true })
})
