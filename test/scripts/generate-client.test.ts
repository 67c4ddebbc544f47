// The generated client: the parts that depend on the spec, and the compiled runtime.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { miniProject } from '../support/generator/mini-project.ts'

t.test('an operation is a row of the table and a typed method', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate()
  const { operationTable: operations } = (await import(
    join(project.folder, 'generated/client/operations.js')
  )) as {
    operationTable: Record<string, object>
  }
  t.equal(Object.keys(operations).length, 12)
  t.strictSame(operations.createThing, {
    method: 'POST',
    path: '/things',
    prefix: '/v1',
    name: 'things.create',
    body: true,
    answer: 'json',
    idempotent: 'Idempotency-Key',
  })
  t.match(operations.listThings, { method: 'GET', list: { items: 'data', next: { by: 'link' } } })
  t.match(operations.watchThings, { answer: 'events' })
  t.match(operations.postStrict, { answer: 'text' })
  const types = await project.read('generated/client/operations.d.ts')
  t.match(types, '* List things: `GET /v1/things`')
  t.match(types, /\n {2}listThings: OptionalListMethod<ListThingsInput, \w+, Thing>/)
  t.match(types, /export type WatchThingsEvent = StreamEvent<\{ 'message': \w+ \}>/)
  t.match(types, /\n {2}watchThings \(input\?: WatchThingsInput\): EventStream<WatchThingsEvent>/)
  const resources = await project.read('generated/client/resource-methods.d.ts')
  t.match(resources, /export interface ThingsResource \{/)
  t.match(
    resources,
    /\n {2}create \(body: \w+, options\?: WithHeaders<CallOptions, CreateThingHeaders>\): Answer</,
  )
  t.notMatch(
    await project.read('generated/client/index.js'),
    /resumable/,
    'no resumableUpload without the upload operations',
  )
})

t.test('the Python client has a row, a method and the types of each operation', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate()
  const table = await project.read('generated/client-python/platform_api/_operations.py')
  t.match(
    table,
    '"things.create": {"id": "createThing", "method": "POST", "path": "/v1/things", ' +
      '"headers": ["Idempotency-Key"], "body": ["application/json"]},',
  )
  const [blocking, asynchronous, types] = await Promise.all(
    ['client.pyi', 'aio.pyi', 'types.py'].map((name) =>
      project.read(`generated/client-python/platform_api/${name}`),
    ),
  )
  const create = 'def create(self, /, *, idempotency_key: str = ..., **fields: Unpack[t.'
  t.match(blocking, `    ${create}`)
  t.match(asynchronous, `    async ${create}`)
  t.match(types, /^class Thing\(TypedDict\):$/m)
  t.notMatch(blocking, /resumable_upload/, 'no resumable_upload without the upload operations')
  await project.write('generated/client-python/old.py', '')
  await t.rejects(project.generate({ check: true }), { message: /client-python\/old\.py \(not generated\)/ })
})

t.test('compiled files are reused unless the source or the output has changed', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate()
  const before = await project.read('generated/client/retry.js')
  t.equal(before, await readFile(join(import.meta.dirname, '../../generated/client/retry.js'), 'utf8'))

  await project.write(
    'generated/client/retry.js',
    before.replace('new Set([408, 429, 503])', 'new Set([408])'),
  )
  await t.rejects(project.generate({ check: true }), { message: /generated\/client\/retry\.js$/ })
  t.match(await project.generate(), /wrote client\/retry\.js \(/)
  t.equal(await project.read('generated/client/retry.js'), before)

  const source = await project.read('packages/client/retry.ts')
  await project.write(
    'packages/client/retry.ts',
    source.replace('maxWaitSeconds = 120', 'maxWaitSeconds = 60'),
  )
  t.match(await project.generate(), /client\/retry\.js/)
  t.match(await project.read('generated/client/retry.js'), 'maxWaitSeconds = 60')

  await project.write('generated/client/more.js', '')
  await t.rejects(project.generate({ check: true }), {
    message: /generated\/client\/more\.js \(not generated\)$/,
  })
})

t.test('a syntax error in the source is reported with its place', async (t) => {
  const project = await miniProject(t.testdir())
  const source = await project.read('packages/client/pages.ts')
  await project.write('packages/client/pages.ts', `${source}\nexport const untyped = [1].map(String)\n`)
  const message = await project.generateError()
  t.match(message, new RegExp(`^packages/client/pages\\.ts:${source.split('\n').length + 1} `))
  t.notMatch(message, /\n\s+at /)
})

t.test('an unknown event in x-stream-ends is an error in the spec', async (t) => {
  const project = await miniProject(t.testdir())
  const spec = await project.read('spec/things.yaml')
  await project.write(
    'spec/things.yaml',
    spec.replace(/^( *)x-stream-events:/m, '$1x-stream-ends: [message, gone]\n$1x-stream-events:'),
  )
  const message = await project.generateError()
  t.match(message, /spec\/things\.yaml:\d+:\d+ `gone` is not an event of the stream/)
  t.notMatch(message, /`message` is no event/)
})

t.test('every schema and every list of parameters has an exported type with its description', async (t) => {
  const project = await miniProject(t.testdir())
  const spec = await project.read('spec/things.yaml')
  await project.write(
    'spec/things.yaml',
    spec.replace('    Thing:\n', '    Thing:\n      description: A thing.\n'),
  )
  await project.generate()
  const types = await project.read('generated/client/types.d.ts')
  t.match(types, /\* A thing\.\s[^]{0,80}?export interface Thing \{/)
  t.match(types, /export interface ListThingsQuery \{/)
  t.match(types, /listThings: \{\n\s+parameters: \{\n\s+query\?: ListThingsQuery;/)
  t.notMatch(types, 'components["schemas"]["', 'types refer to each other by name')

  for (const file of ['spec/things.yaml', 'spec/openapi.yaml'])
    await project.write(file, (await project.read(file)).replace(/\bThing\b/g, 'ListThingsQuery'))
  t.match(await project.generateError(), 'Two types of the client would be called ListThingsQuery')
})

t.test('the name of a method by resource follows from the path unless the spec sets it', async (t) => {
  const project = await miniProject(t.testdir())
  const spec = await project.read('spec/things.yaml')
  const withName = (name: string): Promise<void> =>
    project.write(
      'spec/things.yaml',
      spec.replace(/( *)operationId: createThing\n/, `$&$1x-client-method: ${name}\n`),
    )
  const names = async (): Promise<string[]> =>
    [...(await project.read('generated/client/operations.js')).matchAll(/"name":"([^"]+)"/g)].map(
      ([, name]) => name,
    )
  await withName('things.add')
  await project.generate()
  t.ok((await names()).includes('things.add'))
  await withName('false')
  await project.generate()
  t.notOk((await names()).some((name) => name === 'things.add' || name === 'things.create'))
  await withName('things.list')
  t.match(await project.generateError(), /both listThings and createThing `things\.list`/)
  await withName('things.Add it')
  t.match(await project.generateError(), 'cannot call createThing `things.Add it`')
  await withName('7')
  t.match(await project.generateError(), '`x-client-method` must be a name such as')
})
