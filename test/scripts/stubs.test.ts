// `generate --stubs` leads from the spec to what is still to be written: stubs, beginnings of tests, and what is dead.
import { rm } from 'node:fs/promises'
import t from 'tap'
import ts from 'typescript'
import { miniProject } from '../support/mini-project.ts'

/** What the parser alone finds wrong. */
function syntaxErrors(text: string): string[] {
  const { diagnostics = [] } = ts.transpileModule(text, {
    reportDiagnostics: true,
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext },
  })
  return diagnostics.map(({ messageText }) => String(messageText))
}

t.test('a stub is given what its operation declares and says what it may answer', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate({ stubs: true })
  const things = await project.read('handlers/things.ts')
  t.match(
    things,
    '  // POST /v1/things: Make a thing. `things:write`. Takes ThingCreate. Answers 201 Thing.\n  async createThing ({ principal, body }, { db, events }) {\n  }',
  )
  t.match(
    things,
    '  // POST /v1/projects/{id}/use: Use a thing. `things:write`, editor of the project. Answers 204.\n  async useThing (request, { db, events }) {\n  }',
    'who opens a project hands the request on',
  )
  t.match(
    await project.read('handlers/edge.ts'),
    /GET \/v1\/t:batch: A colon in the path\. Public\. Answers 200/,
  )
})

t.test('a request for a stub is answered 500, never with what it does not say', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate({ stubs: true })
  const app = await project.build()
  t.teardown(() => app.close())
  const { statusCode, body } = await app.inject({ method: 'GET', url: '/v1/t:batch' })
  t.equal(statusCode, 500)
  t.match(JSON.parse(body), { error: { code: 'SERVER_ERROR' } })
})

t.test('each stub has the beginning of a test, beside those of its tag, once', async (t) => {
  const project = await miniProject(t.testdir(), {
    'test/webhooks/things.test.ts': "// By hand.\nimport t from 'tap'\n",
    'test/other/other.test.ts': '',
  })
  const printed = await project.generate({ stubs: true })
  t.match(printed, 'test/webhooks/things.test.ts: createThing wants a test there, which only you can place')
  t.equal(
    await project.read('test/webhooks/things.test.ts'),
    "// By hand.\nimport t from 'tap'\n",
    'what has its own way of starting servers is left alone',
  )
  const edge = await project.read('test/edge/edge.test.ts')
  for (const id of ['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch'])
    t.match(edge, `t.fail('${id} has no test yet`)
  t.match(edge, "await client.post('/strict', {})")
  t.match(edge, 'await client.get(`/numbers/${number}`)')
  t.strictSame(syntaxErrors(edge), [])

  const again = await project.generate({ stubs: true })
  t.notMatch(again, /edge\.test\.ts/)
  t.equal(await project.read('test/edge/edge.test.ts'), edge)
})

t.test('a stub of a later day is added to the tests that are there, whose text stays', async (t) => {
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
  t.match(printed, /handlers\/things\.ts: useThing is in no spec any more/)
  t.match(printed, /handlers\/things\.ts: wearThing written as a stub/)
  const now = await project.read('test/things/things.test.ts')
  t.equal(now.slice(0, before.length), before)
  t.match(now.slice(before.length), "t.fail('wearThing has no test yet")
  t.notMatch(now.slice(before.length), /listThings|useThing/)
})

t.test('the module of a tag that is gone is pointed out, and stays', async (t) => {
  const gone =
    "import type { Handlers } from '../services/handler.ts'\n\nexport const lamps = {} satisfies Handlers<never>\n"
  const project = await miniProject(t.testdir(), { 'handlers/lamps.ts': gone })
  const printed = await project.generate({ stubs: true })
  t.match(printed, /handlers\/lamps\.ts: no operation of the spec has the tag `lamps` any more/)
  t.equal(await project.read('handlers/lamps.ts'), gone)
  await rm(project.folder, { recursive: true })
})
