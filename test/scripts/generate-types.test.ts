// Type errors in handlers, in a separate project: each names the operation.
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t from 'tap'
import { typeProblems } from '../../scripts/check/types.ts'
import { addDiscriminated } from '../support/operations/discriminated-operation.ts'
import { addEither } from '../support/operations/either-operation.ts'
import { miniProject, type MiniProject } from '../support/generator/mini-project.ts'

const compilerOptions = {
  target: 'es2024',
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
}

/** A project with only the parts of services/ that the handler types need, for speed. */
const outlines = {
  'services/services.ts': 'export interface Services { clock: () => Date, events: { emit: () => void } }\n',
  'infra/database/database.ts':
    'export interface Db { rows: unknown[] }\nexport type Transaction = Db\n' +
    'export interface SqlClient { sql: unknown }\n',
  'infra/errors.ts':
    'export class ApiError extends Error {}\n' +
    'export declare function tooManyOpen(...values: unknown[]): ApiError\n' +
    'export declare function unavailable(): ApiError\n',
  'services/users/authentication.ts': 'export interface Principal { userId: string }\n',
}

const thing = { good: "{ id: 't1', name: 'Lamp' }", bad: "{ id: 't1', title: 'Lamp' }" }
const lines = {
  listThings: `  async listThings ({ query }) {
    return { status: 200, body: { data: [], pagination: { page: query.page } } }
  },`,
  createThing: `  async createThing ({ body }) {
    return { status: 201, body: { id: 't1', name: body.name }, headers: { location: '/things/t1' } }
  },`,
  getThing: `  async getThing ({ params }) {
    return { status: 200, body: { id: params.id, name: 'Lamp' } }
  },`,
  updateThing: `  async updateThing () { return { status: 200, body: ${thing.good} } },`,
  useThing: '  async useThing () { return { status: 204 } },',
  watchThings: `  async watchThings () {
    return {
      status: 200,
      body: async function * (signal) {
        if (signal.aborted) return
        const data = { object: { id: 't1', name: 'Lamp' }, previous_attributes: {} }
        yield { event: 'message', id: '1', data: { type: 'thing.made', data } }
      }
    }
  },`,
}
const module = (tag: string, handlers: string[]) =>
  `import type { Handlers } from '../services/handler.ts'

export const ${tag} = {
${handlers.join('\n')}
} satisfies Handlers<'${tag}'>
`
const edge = ['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch'].map(
  (id) => `  async ${id} () { return { status: 200, body: '' } },`,
)

const broken = {
  ...lines,
  createThing: `  async createThing () { return { status: 202, body: ${thing.good} } },`,
  getThing: `  async getThing () { return { status: 200, body: ${thing.bad} } },`,
  updateThing: '  async updateThing () {},',
  watchThings:
    '  async watchThings () { return { status: 200, body: async function * () { ' +
    "yield { event: 'notice', data: {} } } } },",
  useThing:
    '  async useThing ({ principal }) { ' +
    "return { status: 204, headers: { 'x-by': principal.nickname } } },",
}

// One program type-checks all projects, because each program reads and checks the compiler's library again.
const folder = t.testdir()
const good = {
  'handlers/things.ts': module('things', Object.values(lines)),
  'handlers/edge.ts': module('edge', edge),
}
const matching = await miniProject(join(folder, 'matching'), { ...outlines, ...good })
await matching.generate()

const wrong = await miniProject(join(folder, 'wrong'), {
  ...outlines,
  'handlers/things.ts': module('things', Object.values(broken)),
  'handlers/edge.ts': module(
    'edge',
    edge.filter((line) => !line.includes('getBatch')),
  ),
  // Without `satisfies Handlers`, the module is still checked in generated/routes.ts.
  'handlers/more.ts': module('edge', [...edge, "  async getBatches () { return { status: 200, body: '' } }"]),
})
await wrong.generate()

const stubs = await miniProject(join(folder, 'stubs'), outlines)
await stubs.generate({ stubs: true })

// The discriminator of a body narrows its type.
const shape = (kind: string) => `  async createShape ({ body }) {
    const size: number = body.kind === '${kind}' ? body.radius : body.side
    return { status: 200, body: { first: { kind: 'box', size }, second: { kind: 'Ring', width: size } } }
  },`
const shapes = await miniProject(join(folder, 'shapes'), {
  ...outlines,
  'handlers/things.ts': good['handlers/things.ts'],
  'handlers/edge.ts': module('edge', [...edge, shape('circle')]),
  'handlers/more.ts': module('edge', [...edge, shape('square')]),
})
await addDiscriminated(shapes)
await shapes.generate()

// TypeScript itself allows the properties of a spread that the type does not have.
const row = "{ id: 't1', name: 'Lamp', secret: 1 }"
const page = '{ page: 1 }'
const spreading = await miniProject(join(folder, 'spreading'), {
  ...outlines,
  'handlers/things.ts': module('things', [
    lines.watchThings,
    lines.useThing,
    `  async createThing () { const row = ${row}
    return { status: 201, body: { ...row }, headers: { location: '/things/t1' } } },`,
    `  async listThings () { const row = ${row}
    return { status: 200, body: { data: [{ ...row }], pagination: ${page}, hidden: row } } },`,
    `  async getThing (): Promise<Answer<'getThing'>> { const row = ${row}
    return { status: 200, body: { ...row } } },`,
    `  async updateThing () { const row = ${row}
    const { secret: _, ...body } = row
    return { status: 200, body } },`,
  ]).replace('import type { Handlers }', 'import type { Answer, Handlers }'),
  'handlers/edge.ts': module('edge', edge),
})
await spreading.generate()

// The stubs of the generator, completed by hand.
const completed = await miniProject(join(folder, 'completed'), outlines)
await completed.generate({ stubs: true })
for (const [file, text] of Object.entries(good)) await completed.write(file, text)

const either = await miniProject(join(folder, 'either'), {
  ...outlines,
  'handlers/things.ts': good['handlers/things.ts'],
})
await addEither(either)
await either.generate()

await writeFile(
  join(folder, 'tsconfig.json'),
  JSON.stringify({
    compilerOptions,
    files: [
      ...['matching', 'wrong', 'stubs', 'completed', 'either', 'spreading', 'shapes'].map(
        (name) => `${name}/generated/routes.ts`,
      ),
      'wrong/handlers/more.ts',
      'shapes/handlers/more.ts',
    ],
  }),
)
const all = typeProblems(folder)

/** The problems in the project, and those without a place. */
function problemsIn(project: MiniProject): string[] {
  const name = `${basename(project.folder)}/`
  return all
    .filter((problem) => problem.startsWith(name) || !/^\w+\/[\w./-]+:\d+:\d+ /.test(problem))
    .map((problem) => (problem.startsWith(name) ? problem.slice(name.length) : problem))
}

t.test('a handler distinguishes the alternatives of a discriminator', async (t) => {
  const problems = problemsIn(shapes)
  t.ok(problems.length > 0 && problems.every((problem) => problem.startsWith('handlers/more.ts')))
  t.match(problems[0], /createShape: Property 'radius' does not exist on type 'SquareCreate'/)
})

t.test('handlers that match the contract compile', async (t) => {
  t.strictSame(problemsIn(matching), [])
})

t.test('a handler can distinguish JSON from a form', async (t) => {
  t.strictSame(problemsIn(either), [])
})

t.test(
  'a property of a spread that the spec does not declare does not compile, in the handler',
  async (t) => {
    const problems = problemsIn(spreading)
    const source = (await spreading.read('handlers/things.ts')).split('\n')
    const at = (id: string) =>
      `handlers/things.ts:${source.findIndex((line) => line.includes(id)) + 1}:9 ${id}: `
    t.strictSame(
      problems.map((problem) => problem.split('\n')[0]).toSorted(),
      [
        `${at('createThing')}the answer has \`secret\``,
        `${at('listThings')}the answer has \`hidden\`, \`secret\``,
      ].map((line) => `${line}, which the spec does not declare: leave it out of the object or its spread`),
    )
    // A declared type hides what the value has: test/app/secrets.test.ts shows that the server finds it.
    t.notOk(problems.some((problem) => problem.includes('getThing')))
    t.notOk(
      problems.some((problem) => problem.includes('updateThing')),
      'a copy without the property',
    )
  },
)

t.test(
  'an undeclared status, a wrong body, no response, and a missing or unknown handler do not compile',
  async (t) => {
    const problems = problemsIn(wrong)
    const at = async (file: string, id: string) => {
      const line = (await wrong.read(file)).split('\n').findIndex((text) => text.includes(`async ${id} `)) + 1
      return problems.find((problem) => problem.startsWith(`${file}:${line}:`)) ?? ''
    }
    t.match(
      await at('handlers/things.ts', 'createThing'),
      /202/,
      'an undeclared status, on the line of its operation',
    )
    t.match(
      await at('handlers/things.ts', 'getThing'),
      /^[^ ]+ getThing: body: Property 'name' is missing in type '\{ id: string; title: string; \}'/,
      'a wrong body: the handler, and the missing property',
    )
    const files = problems.map((problem) => problem.split('/')[0])
    t.strictSame(files, files.toSorted().toReversed(), 'handlers first, generated code last')
    t.match(
      await at('handlers/things.ts', 'watchThings'),
      /notice|message/,
      'an undeclared event of a stream',
    )
    t.match(await at('handlers/things.ts', 'updateThing'), /void/, 'a handler that forgets to answer')
    t.match(await at('handlers/things.ts', 'useThing'), /nickname/, 'an unknown property of the request')
    t.match(
      await at('handlers/more.ts', 'getBatches'),
      /'getBatches' does not exist/,
      'a handler without an operation',
    )
    t.equal(await at('handlers/things.ts', 'listThings'), '', 'and nothing else')
    t.ok(
      problems.some((p) => p.startsWith('handlers/edge.ts') && /'getBatch' is missing/.test(p)),
      'a missing handler, in its module',
    )
    t.ok(
      problems.some((p) => p.startsWith('generated/routes.ts') && /'getBatch' is missing/.test(p)),
      'the missing handler in generated/routes.ts',
    )
  },
)

t.test('a stub has no syntax error and does not compile until it returns a response', async (t) => {
  const problems = problemsIn(stubs)
  t.strictSame(
    problems.filter((p) => !/TS2322|TS2355/.test(p)),
    [],
    'no syntax error',
  )
  for (const [file, id] of [
    ['handlers/things.ts', 'listThings'],
    ['handlers/edge.ts', 'getBatch'],
  ]) {
    const line = (await stubs.read(file)).split('\n').findIndex((text) => text.includes(`async ${id} `)) + 1
    t.match(
      problems.find((p) => p.startsWith(`${file}:${line}:`)),
      /void/,
      `${id} does not answer yet`,
    )
  }
  t.strictSame(problemsIn(completed), [], 'and nothing but the answers was missing')
})
