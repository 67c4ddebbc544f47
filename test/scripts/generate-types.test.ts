// Type errors in handlers, in a separate project: each names the operation.
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { typeProblems } from '../../scripts/check/types.ts'
import { miniProject } from '../support/mini-project.ts'

/** A project with only the parts of services/ that the handler types need, for speed. */
const outlines = {
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'es2024',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
    files: ['generated/routes.ts'],
  }),
  'services/services.ts': 'export interface Services { clock: () => Date, events: { emit: () => void } }\n',
  'infra/database/database.ts': 'export interface Db { rows: unknown[] }\n',
  'services/users/authentication.ts': 'export interface Principal { userId: string }\n',
}

const thing = { good: "{ id: 't1', name: 'Lamp' }", bad: "{ id: 't1', title: 'Lamp' }" }
const lines = {
  listThings: `  async listThings ({ query }) {
    return { status: 200, body: { data: [], pagination: { page: query.page } } }
  },`,
  createThing: `  async createThing ({ body }) {
    return { status: 201, body: { id: 't1', name: body.name } }
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
        const data = { object: {}, previous_attributes: {} }
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

t.test('handlers that match the contract compile', async (t) => {
  const project = await miniProject(t.testdir(), {
    ...outlines,
    'handlers/things.ts': module('things', Object.values(lines)),
    'handlers/edge.ts': module('edge', edge),
  })
  await project.generate()
  t.strictSame(typeProblems(project.folder), [])
})

t.test(
  'an undeclared status, a wrong body, no response, and a missing or unknown handler do not compile',
  async (t) => {
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
    const project = await miniProject(t.testdir(), {
      ...outlines,
      'handlers/things.ts': module('things', Object.values(broken)),
      'handlers/edge.ts': module(
        'edge',
        edge.filter((line) => !line.includes('getBatch')),
      ),
      // Without `satisfies Handlers`, the module is still checked in generated/routes.ts.
      'handlers/more.ts': module('edge', [
        ...edge,
        "  async getBatches () { return { status: 200, body: '' } }",
      ]),
    })
    await project.generate()
    await project.write(
      'tsconfig.json',
      outlines['tsconfig.json'].replace('"generated/routes.ts"', '"generated/routes.ts","handlers/more.ts"'),
    )
    const problems = typeProblems(project.folder)
    const at = async (file: string, id: string) => {
      const line =
        (await readFile(join(project.folder, file), 'utf8'))
          .split('\n')
          .findIndex((text) => text.includes(`async ${id} `)) + 1
      return problems.find((problem) => problem.startsWith(`${file}:${line}:`)) ?? ''
    }
    t.match(
      await at('handlers/things.ts', 'createThing'),
      /202/,
      'an undeclared status, on the line of its operation',
    )
    t.match(await at('handlers/things.ts', 'getThing'), /title|name/, 'a wrong body')
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
  const project = await miniProject(t.testdir(), outlines)
  await project.generate({ stubs: true })
  const problems = typeProblems(project.folder)
  t.strictSame(
    problems.filter((p) => !/TS2322|TS2355/.test(p)),
    [],
    'no syntax error',
  )
  for (const [file, id] of [
    ['handlers/things.ts', 'listThings'],
    ['handlers/edge.ts', 'getBatch'],
  ]) {
    const line = (await project.read(file)).split('\n').findIndex((text) => text.includes(`async ${id} `)) + 1
    t.match(
      problems.find((p) => p.startsWith(`${file}:${line}:`)),
      /void/,
      `${id} does not answer yet`,
    )
  }
  await project.write('handlers/things.ts', module('things', Object.values(lines)))
  await project.write('handlers/edge.ts', module('edge', edge))
  t.strictSame(typeProblems(project.folder), [], 'and nothing but the answers was missing')
  await rm(project.folder, { recursive: true })
})
