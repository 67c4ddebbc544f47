// Shapes of documents that tools often read wrongly, in one document: what a generated server, its types, a
// mock and
// `changes` make of each.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import ts from 'typescript'
import { changesBetween } from '@platform-api/changes/located-change.ts'
import { generateProject } from '@platform-api/generate/project.ts'
import { modulesOf } from '@platform-api/generate/names.ts'
import { lintOpenapi } from '@platform-api/lint/lint.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { operationsOf } from '@platform-api/openapi/document.ts'
import { unicodePattern } from '@platform-api/openapi/faults.ts'
import { DocumentError, readOpenapi } from '@platform-api/openapi/read.ts'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'

const json = (schema: object, more: object = {}) => ({ 'application/json': { schema, ...more } })
const answer = (content: object) => ({ '200': { description: 'Done.', content } })
const operation = (operationId: string, tag: string, more: object = {}) => ({
  operationId,
  tags: [tag],
  responses: answer(json({ type: 'object' })),
  ...more,
})
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

const document = {
  openapi: '3.0.3',
  info: { title: 'Shapes', version: '1' },
  servers: [{ url: 'https://{host}/v1', variables: { host: { default: '' } } }],
  paths: {
    '/gadgets': {
      post: operation('addGadget', 'Route', {
        requestBody: { required: true, content: json(ref('Gadget')) },
        responses: answer(json(ref('Gadget'))),
      }),
    },
    '/posts': {
      post: operation('addPost', 'Not Implemented', {
        requestBody: { required: true, content: json(ref('NewPost')) },
        responses: answer(
          json({ type: 'object', required: ['count'], properties: { count: { type: 'integer' } } }),
        ),
      }),
    },
    '/photos/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      put: operation('putPhoto', 'Route', {
        requestBody: { content: { 'image/*': { schema: { type: 'string', format: 'binary' } } } },
      }),
      get: operation('getPhoto', 'Route', {
        responses: answer({
          '*/*': { schema: { type: 'object', properties: { size: { type: 'integer' } } } },
        }),
      }),
    },
    '/notes': {
      post: operation('addNote', 'Route', {
        requestBody: {
          content: {
            'application/*': {
              schema: { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } },
            },
          },
        },
      }),
      get: operation('getNote', 'Route', { responses: answer(json(ref('Note'))) }),
    },
    '/pets': {
      post: operation('addPet', 'Route', {
        requestBody: {
          required: true,
          content: json({
            oneOf: [
              ref('Pet'),
              ref('Feline'),
              {
                oneOf: [ref('Tiger'), ref('Lion')],
                discriminator: {
                  propertyName: 'name',
                  mapping: { 'zoo.tiger': 'Tiger', 'zoo.lion': 'Lion' },
                },
              },
            ],
          }),
        },
        responses: answer(json({})),
      }),
    },
    '/tigers': {
      post: operation('addTiger', 'Route', { requestBody: { required: true, content: json(ref('Tiger')) } }),
    },
    '/words': {
      put: operation('putWords', 'Route', {
        requestBody: {
          required: true,
          content: json({ type: 'array', minItems: 1, items: { type: 'object', required: ['op'] } }),
        },
      }),
    },
    '/columns': {
      get: operation('getColumn', 'Route', {
        responses: answer(
          json(ref('Column'), {
            example: { name: 'email', nullable: true, pattern: '(', enum: [], $ref: '#/nowhere' },
          }),
        ),
      }),
    },
    '/nullable': { get: operation('getNullable', 'Route', { responses: answer(json(ref('Derived'))) }) },
    '/silent': { get: { operationId: 'silent' } },
    '/parts': { get: operation('getParts', 'Route') },
    '/parts#1': { get: operation('getPart#1', 'Route') },
    '/halves#1': { get: operation('getHalf#1', 'Halves') },
    '/halves#2': { get: operation('getHalf#2', 'Halves') },
    // Extensions are data, unless a reference leads into them.
    '/extended': {
      'x-source': { $ref: '../nowhere.yaml' },
      get: operation('getExtended', 'Route', {
        parameters: [{ $ref: '#/components/parameters/x-limit' }, { $ref: '#/x-parts/Page' }],
        responses: { '200': { $ref: '#/x-parts/Done' } },
      }),
    },
    // Its children have it as a part, and it has them as alternatives. `examples` is in the wrong place.
    '/animals': {
      post: operation('addAnimal', 'Route', {
        requestBody: {
          required: true,
          content: {
            ...json({ type: 'array', items: { anyOf: [ref('Animal'), ref('Word')] } }),
            examples: {},
          },
        },
      }),
    },
    '/only-head': { head: { operationId: 'headOnly', responses: { '204': { description: 'Yes.' } } } },
  },
  'x-parts': {
    Page: { name: 'page', in: 'query', schema: { $ref: '#/components/x-types/Page' } },
    Done: {
      description: 'Done.',
      content: json({ type: 'array', items: { $ref: '#/components/x-types/Page' } }),
    },
  },
  components: {
    'x-types': { Page: { type: 'integer', 'x-see': { $ref: '#/components/schemas/Nothing' } } },
    parameters: { 'x-limit': { name: 'limit', in: 'query', schema: ref('Limit') } },
    schemas: {
      Limit: { type: 'integer' },
      Gadget: {
        type: 'object',
        required: ['serial', 'label', 'secret'],
        properties: {
          serial: { type: 'string', readOnly: true },
          label: { type: 'string', pattern: '^[0-9]{4}\\-[0-9]{2}$' },
          secret: { type: 'string', writeOnly: true },
        },
      },
      NewPost: {
        type: 'object',
        required: ['title'],
        properties: {
          title: { type: 'string', pattern: '(?i)abc' },
          labels: { type: 'array', items: { type: 'string' }, default: [] },
        },
      },
      Column: {
        type: 'object',
        properties: { name: { type: 'string' }, nullable: { type: 'boolean' }, pattern: { type: 'string' } },
      },
      Base: { type: 'object', nullable: true, properties: { x: { type: 'string' } } },
      Derived: { allOf: [ref('Base')], type: 'object', required: ['x', 'missing'], properties: {} },
      Cat: { allOf: [ref('Animal'), { required: ['claws'], properties: { claws: { type: 'integer' } } }] },
      Dog: { allOf: [ref('Animal'), { required: ['bark'], properties: { bark: { type: 'integer' } } }] },
      Animal: {
        type: 'object',
        required: ['kind'],
        properties: { kind: { type: 'string' } },
        oneOf: [ref('Cat'), ref('Dog')],
        discriminator: { propertyName: 'kind' },
      },
      // One list of values for both alternatives, of which the mapping names one each.
      Pet: {
        oneOf: [ref('Hamster'), ref('Snake')],
        discriminator: { propertyName: 'sort', mapping: { hamster: 'Hamster', snake: 'Snake' } },
      },
      PetSort: { type: 'string', enum: ['hamster', 'snake'] },
      Hamster: {
        type: 'object',
        required: ['sort'],
        properties: { sort: ref('PetSort'), wheel: { type: 'integer' } },
      },
      Snake: {
        type: 'object',
        required: ['sort'],
        properties: { sort: ref('PetSort'), length: { type: 'integer' } },
      },
      // Alternatives of two unions with other values, whose property is that of a parent.
      Beast: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      Tiger: { allOf: [ref('Beast')] },
      Lion: { allOf: [ref('Beast')] },
      Feline: {
        oneOf: [ref('Tiger'), ref('Lion')],
        discriminator: {
          propertyName: 'name',
          mapping: { tiger: '#/components/schemas/Tiger', lion: '#/components/schemas/Lion' },
        },
      },
      Word: { anyOf: [ref('Word'), { allOf: [ref('Word'), { type: 'string' }] }, { type: 'boolean' }] },
      Note: { oneOf: [ref('Plain'), ref('Quote')], discriminator: { propertyName: 'sort' } },
      Plain: {
        type: 'object',
        required: ['sort'],
        properties: { sort: { type: 'string', enum: ['plain'] } },
      },
      Quote: {
        type: 'object',
        required: ['sort'],
        properties: { sort: { type: 'string', enum: ['quote'] } },
      },
    },
  },
}

const folder = t.testdir({ 'shapes.json': JSON.stringify(document) })
const file = join(folder, 'shapes.json')
const out = join(folder, 'server')
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
mkdirSync(join(out, 'handlers'), { recursive: true })
writeFileSync(
  join(out, 'handlers/route.ts'),
  `import type { Handlers } from '../generated/handler.ts'

export const route2 = {
  async addGadget({ body: { serial, label } }) {
    const given: string | undefined = serial
    return { status: 200, body: { serial: given ?? 'new', label } }
  },
  async putPhoto({ body }) {
    return { status: 200, body: { bytes: body?.length } }
  },
  async getPhoto() {
    return { status: 200, body: { size: 1 } }
  },
  async addNote({ body }) {
    return { status: 200, body: { note: body } }
  },
  async getNote() {
    return { status: 200, body: { sort: 'plain' } }
  },
  async addPet({ body }) {
    if ('sort' in body) return { status: 200, body: body.sort === 'snake' ? body.length : body.wheel }
    const names: 'tiger' | 'lion' | 'zoo.tiger' | 'zoo.lion' = body.name
    return { status: 200, body: names }
  },
  async addTiger() {
    return { status: 200, body: {} }
  },
  async putWords() {
    return { status: 200, body: {} }
  },
  async getColumn() {
    return { status: 200, body: { nullable: true } }
  },
  async getNullable() {
    return { status: 200, body: { x: 'x' } }
  },
  async getParts() {
    return { status: 200, body: {} }
  },
  async addAnimal({ body }) {
    return { status: 200, body: { kinds: body.map((each) => (typeof each === 'object' ? each.kind : each)) } }
  },
  async getExtended({ query: { limit = 1, page = 1 } }) {
    return { status: 200, body: [limit, page] }
  },
} satisfies Partial<Handlers<'Route'>>
`,
)
writeFileSync(
  join(out, 'handlers/not-implemented.ts'),
  `import type { Handlers } from '../generated/handler.ts'

export const notImplemented2 = {
  async addPost({ body: { labels } }) {
    return { status: 200, body: { count: labels?.length ?? 0 } }
  },
} satisfies Handlers<'Not Implemented'>
`,
)
const { notes } = await generateProject(file, out)
const { createServer } = await import(join(out, 'generated/server.ts'))
const server = await createServer()
const mock = await createMock({ document: await readOpenapi(file) })
t.teardown(() => Promise.all([server.close(), mock.close()]))

const both = async (
  test: { equal(a: unknown, b: unknown, says: string): void },
  [method, url]: [method: string, url: string],
  { type, payload }: { type?: string; payload?: string },
): Promise<Array<[status: number, body: any]>> => {
  const headers = type === undefined ? {} : { 'content-type': type }
  const answers = []
  for (const app of [server, mock]) {
    const { statusCode, body } = await app.inject({ method, url: `/v1${url}`, headers, payload })
    answers.push([statusCode, body === '' ? null : JSON.parse(body)] as [number, any])
  }
  test.equal(answers[0][0], answers[1][0], `server and mock agree: ${JSON.stringify(answers)}`)
  return answers
}

t.test('the server compiles', async (t) => {
  const { config } = ts.readConfigFile(join(out, 'tsconfig.json'), ts.sys.readFile)
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, out)
  const program = ts.createProgram(fileNames, options, compilerHost(options))
  const errors = ts.getPreEmitDiagnostics(program)
  t.same(
    errors.map(
      ({ messageText, file: at }) => `${at?.fileName} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    ),
    [],
  )
})

t.test('what no tool carries out is named', async (t) => {
  t.same(notes, [
    'The pattern "(?i)abc" is no regular expression of ECMA-262.',
    'examples in content is left out: it is no media type.',
    'Animal refers to itself in allOf, for the same value: at most its own keywords apply there.',
    'Word refers to itself in anyOf, for the same value: at most its own keywords apply there.',
    'Word refers to itself in allOf, for the same value: at most its own keywords apply there.',
    'GET /parts#1 is left out: no request has what follows the #.',
    'GET /halves#2 is left out: no request has what follows the #.',
    'HEAD /only-head is left out: no tool has the method.',
  ])
  const problems = await lintOpenapi(file)
  t.match(
    problems.find(({ rule }) => rule === 'readable/pattern'),
    { severity: 'warning', message: /no regular expression/ },
  )
})

t.test('requests need no readOnly property, answers no writeOnly one', async (t) => {
  const gadget = ['POST', '/gadgets'] as [string, string]
  const type = 'application/json'
  const [own] = await both(t, gadget, { type, payload: '{"label":"2026-01","secret":"s"}' })
  t.same(own, [200, { serial: 'new', label: '2026-01' }])
  const [refused] = await both(t, gadget, { type, payload: '{"label":"2026/01","secret":"s"}' })
  t.equal(refused[0], 400, 'an escaped dash is a part of the pattern')
  t.equal((await both(t, gadget, { type, payload: '{"label":"2026-01"}' }))[0][0], 400)
  const [counted] = await both(t, ['POST', '/posts'], { type, payload: '{"title":"t"}' })
  t.same(counted, [200, { count: 0 }], 'a default is optional in the type')
})

t.test('a schema that is a part or an alternative of itself', async (t) => {
  const send = async (...animals: unknown[]): Promise<number> => {
    const payload = JSON.stringify(animals)
    return (await both(t, ['POST', '/animals'], { type: 'application/json', payload }))[0][0]
  }
  t.equal(await send({ kind: 'Cat', claws: 1 }, { kind: 'Dog', bark: 1 }, 'word', true), 200)
  t.equal(await send({ kind: 'Cat' }), 400, 'a child has its own properties')
  t.equal(await send({ claws: 1 }), 400, 'and those of its parent')
  t.equal(await send(1), 400)
})

t.test('alternatives that share values, a property or other unions', async (t) => {
  const send = async (url: string, body: object): Promise<[number, any]> => {
    const request = { type: 'application/json', payload: JSON.stringify(body) }
    return (await both(t, ['POST', url], request))[0]
  }
  t.same(await send('/pets', { sort: 'hamster', wheel: 1 }), [200, 1])
  t.same(await send('/pets', { sort: 'snake', length: 2 }), [200, 2])
  for (const name of ['tiger', 'lion', 'zoo.tiger', 'zoo.lion'])
    t.same(await send('/pets', { name }), [200, name])
  t.equal((await send('/pets', { name: 'siberian' }))[0], 400)
  t.equal((await send('/tigers', { name: 'siberian' }))[0], 200, 'the schema itself takes any value')
})

t.test('ranges of media types', async (t) => {
  t.equal((await both(t, ['PUT', '/photos/a'], { type: 'image/png', payload: 'bytes' }))[0][0], 200)
  t.equal((await both(t, ['PUT', '/photos/a'], { type: 'image/png', payload: '' }))[0][0], 200, 'empty')
  t.equal((await both(t, ['PUT', '/photos/a'], { type: 'text/plain', payload: 'bytes' }))[0][0], 415)
  const type = 'application/vnd.note+json'
  t.same((await both(t, ['POST', '/notes'], { type, payload: '{"a":1}' }))[0], [200, { note: { a: 1 } }])
  t.equal((await both(t, ['POST', '/notes'], { type, payload: '{"a":"x"}' }))[0][0], 400)
  for (const app of [server, mock]) {
    const { headers, body } = await app.inject('/v1/photos/a')
    t.match(headers['content-type'], /^application\/json/)
    t.type(JSON.parse(body).size, 'number')
  }
})

t.test('examples are data; properties that are only required; lists as bodies', async (t) => {
  t.same(
    (await mock.inject('/v1/columns')).json(),
    document.paths['/columns'].get.responses['200' as never]['content' as never]['application/json' as never][
      'example' as never
    ],
  )
  t.match((await mock.inject('/v1/nullable')).json(), { x: String, missing: String })
  const { body } = await mock.inject({ method: 'PUT', url: '/v1/words', payload: [{}] })
  t.match(JSON.parse(body).error.details, { field: '[0].op', constraint: 'required' })
})

t.test('a pattern that no tool reads is compared', async (t) => {
  writeFileSync(join(folder, 'other.json'), JSON.stringify(document).replace('(?i)abc', '(?i)abcd'))
  const changes = await changesBetween(folder, ['shapes.json', 'other.json'])
  t.match(changes, [{ weight: 'breaking' }])
  writeFileSync(join(folder, 'same.json'), JSON.stringify(document).replace('{4}\\\\-', '{4}-'))
  t.same(await changesBetween(folder, ['shapes.json', 'same.json']), [])
})

t.test('patterns keep their meaning with the flag u', async (t) => {
  for (const [pattern, expected] of [
    ['^[0-9]{4}\\-[0-9]{2}$', '^[0-9]{4}-[0-9]{2}$'],
    ['\\_\\@', '_@'],
    ['[\\w-.]', '[\\w\\-.]'],
    ['a{b}', 'a\\{b\\}'],
    ['x]y', 'x\\]y'],
    ['/^a$/', '^a$'],
    ['a{2,3}[{}]', 'a{2,3}[{}]'],
    ['\\p{L}', '\\p{L}'],
    ['(?i)abc', null],
    ['\\Aabc\\Z', null],
  ] as const)
    t.equal(unicodePattern(pattern), expected, pattern)
})

t.test('no name of a document collides with a name of the generated code', async (t) => {
  const names = fc.oneof(
    fc.constantFrom(
      'route',
      'Route',
      'handlers',
      'Handlers',
      'not implemented',
      'skeleton',
      'class',
      'await',
      '__proto__',
    ),
    fc.constantFrom('日本語', '', '1', '-', 'constructor', 'a b', 'aB', 'AB', 'undefined', 'Operation Id'),
    fc.string({ maxLength: 8 }),
  )
  const taken = new Set([
    'route',
    'handlers',
    'skeleton',
    'AllHandlers',
    'OperationId',
    'Handlers',
    'notImplemented',
  ])
  const isFree = fc.property(fc.uniqueArray(names, { maxLength: 8 }), (tags) => {
    const paths = Object.fromEntries(
      tags.map((tag, i) => [`/p${i}`, { get: { tags: [tag], responses: {} } }]),
    )
    const modules = modulesOf(operationsOf({ paths }))
    const own = modules.map(({ name }) => name)
    const files = modules.map((each) => each.file.toLowerCase())
    const declared = ts.transpileModule(own.map((name) => `export const ${name} = 1`).join('\n'), {
      reportDiagnostics: true,
      compilerOptions: { module: ts.ModuleKind.ESNext },
    })
    return (
      new Set(own).size === own.length &&
      new Set(files).size === files.length &&
      own.every((name) => !taken.has(name)) &&
      declared.diagnostics!.length === 0
    )
  })
  t.doesNotThrow(() => fc.assert(isFree, { numRuns: 100, seed: 1 }))
})

t.test('a document that cannot be read is one line with its place; no URL is opened', async (t) => {
  const files = t.testdir({
    'brace.yaml':
      'openapi: 3.0.3\ninfo: {title: t, version: "1"}\npaths:\n  /a:\n    get:\n' +
      '      x-example: {\n        "a": 1\n      }\n      responses: {}\n',
    'broken.yaml': 'openapi: 3.0.3\n  paths: [\n',
    'no-document.yaml': 'title: t\n',
    'remote.yaml':
      'openapi: 3.1.0\ninfo: {title: t, version: "1"}\npaths:\n  /a: {$ref: "http://192.0.2.1/a.yaml"}\n',
  })
  await readOpenapi(join(files, 'brace.yaml'))
  for (const [name, says] of [
    ['broken.yaml', /broken\.yaml:2:\d+ [^\n]+$/],
    ['no-document.yaml', /no-document\.yaml:1:1 [^\n]+$/],
    ['missing.yaml', /missing\.yaml: ENOENT[^\n]+$/],
    ['remote.yaml', /remote\.yaml:4:\d+ [^\n]+ is not opened without --allow-remote$/],
  ] as const) {
    const error = await readOpenapi(join(files, name)).catch((failed: Error) => failed)
    t.type(error, DocumentError)
    t.match(error.message, says)
  }
})
