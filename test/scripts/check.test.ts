// The findings of `npm run check` in small projects that are written for it.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { benchmarkProblem } from '../../scripts/check/benchmarks.ts'
import { contractProblems } from '../../scripts/check/contract.ts'
import { domainProblem, layerProblems } from '../../scripts/check/layers.ts'
import { lineProblems } from '../../scripts/check/lines.ts'
import { openapiProblems } from '../../scripts/check/openapi.ts'
import { typeProblems } from '../../scripts/check/types.ts'

async function project(t: Test, files: Record<string, string>): Promise<string> {
  const folder = t.testdir({ app: {}, handlers: {}, infra: {}, packages: {}, scripts: {}, services: {} })
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

t.test('an import against the order of the layers is reported with its file and line', async (t) => {
  const folder = await project(t, {
    'infra/ids.ts': [
      "import type { users } from '../generated/types.ts'",
      "import type { User } from '../services/users/users.ts'",
    ].join('\n'),
    'services/users/users.ts': [
      "import '../../infra/ids.ts'",
      "import '../projects/projects.ts'",
      "import './settings.ts'",
    ].join('\n'),
    'services/projects/projects.ts': [
      "import '../users/users.ts'",
      "import type { Services } from '../services.ts'",
    ].join('\n'),
    'services/storage/files.ts': ["import '../projects/projects.ts'", "import '../payments/orders.ts'"].join(
      '\n',
    ),
    'services/payments/stripe/client.ts': [
      "export { a } from '../orders.ts'",
      "const later = await import('../../webhooks/worker.ts')",
    ].join('\n'),
    'services/docs/openapi.ts': ["import '../../infra/ids.ts'", "import '../users/users.ts'"].join('\n'),
    'services/ai/search.ts': ["import '../storage/files.ts'", "import '../docs/openapi.ts'"].join('\n'),
    'services/services.ts': [
      "import './ai/search.ts'",
      "import './docs/openapi.ts'",
      "import pg from 'pg'",
      "import cors from '@fastify/cors'",
    ].join('\n'),
    'services/shop/shop.ts': ["import './goods.ts'"].join('\n'),
    'handlers/a.ts': [
      "import { b } from './b.ts'",
      "import '../services/services.ts'",
      "import Fastify from 'fastify'",
    ].join('\n'),
    'handlers/b.ts': [
      "import type { Services } from '../services/services.ts'",
      "import '../generated/validators.js'",
      "import '../app/build.ts'",
    ].join('\n'),
    'app/build.ts': [
      "import { a } from '../handlers/a.ts'",
      "import { handlers } from '../generated/routes.ts'",
      "import Fastify from 'fastify'",
    ].join('\n'),
    'packages/client/client.ts': ["import './form.ts'", "import '../../infra/ids.ts'"].join('\n'),
    'scripts/run.ts': [
      "import '../test/support/server/server.ts'",
      "import '../app/build.ts'",
      "import '../handlers/a.ts'",
    ].join('\n'),
  })
  const problems = layerProblems(folder)
  t.strictSame(
    problems.map((line) => line.slice(0, line.indexOf(': '))),
    [
      'infra/ids.ts:2 imports services/users/users.ts',
      'services/ai/search.ts:2 imports services/docs/openapi.ts',
      'services/docs/openapi.ts:2 imports services/users/users.ts',
      'services/payments/stripe/client.ts:2 imports services/webhooks/worker.ts',
      'services/projects/projects.ts:2 imports services/services.ts',
      'services/services.ts:4 imports @fastify/cors',
      'services/shop/shop.ts:1 belongs to no layer',
      'services/storage/files.ts:2 imports services/payments/orders.ts',
      'services/users/users.ts:2 imports services/projects/projects.ts',
      'handlers/a.ts:1 imports handlers/b.ts',
      'handlers/a.ts:3 imports fastify',
      'handlers/b.ts:3 imports app/build.ts',
      'app/build.ts:1 imports handlers/a.ts',
      'packages/client/client.ts:2 imports infra/ids.ts',
      'scripts/run.ts:1 imports test/support/server/server.ts',
      'scripts/run.ts:3 imports handlers/a.ts',
    ],
  )
  t.match(problems[0], /: services\/users\/ is above infra\/$/)
  t.match(problems[5], /: only app\/ may import Fastify$/)
})

t.test('the architecture page lists the domains in the order of the layers', async (t) => {
  const page = await readFile(join(import.meta.dirname, '../../docs/architecture.md'), 'utf8')
  t.equal(domainProblem(page), null)
  t.match(domainProblem(page.replace('`audit`: ', '')), /lists the domains users; projects, usage, mail;/)
  t.match(domainProblem(page.replace('`users`: ', '`people`: ')), /the table has users; projects/)
  t.match(domainProblem(page.replace(/^3\. /m, '')), /audit, mail, organizations; events/)
  t.match(domainProblem(''), /lists the domains ; /)
})

t.test('a line of more than 110 columns is reported, except in the listed files', async (t) => {
  const folder = await project(t, {
    'app/long.ts': `// ${'é'.repeat(107)}\n// ${'é'.repeat(108)}\n`,
    'docs/page.md': [
      `| ${'x'.repeat(120)} |`,
      'word '.repeat(30),
      `- https://example.com/${'x'.repeat(120)}`,
    ].join('\n'),
    'generated/types.ts': 'x'.repeat(120),
    'node_modules/a/index.js': 'x'.repeat(120),
    'prisma/migrations/20270101000000_new/migration.sql': 'x'.repeat(120),
  })
  t.strictSame(lineProblems(folder), [
    'app/long.ts:2 has 111 columns; the limit is 110',
    'docs/page.md:2 has 150 columns; the limit is 110',
  ])
})

t.test('an error of the compiler and a promise that is not awaited are reported', async (t) => {
  const folder = await project(t, {
    'tsconfig.json': JSON.stringify({
      compilerOptions: { target: 'es2024', module: 'nodenext', strict: true, noEmit: true, types: [] },
      include: ['app'],
    }),
    'app/promises.ts': [
      'async function work (): Promise<void> {}',
      'declare const thenable: { then (): void }',
      'declare const maybe: (() => Promise<void>) | undefined',
      'export async function all (wanted: boolean): Promise<void> {',
      '  work() // reported',
      '  wanted && work() // reported',
      '  wanted ? work() : undefined // reported',
      '  maybe?.() // reported',
      '  work().then(() => 1) // reported',
      '  work().finally(() => {}) // reported',
      '  Promise.all([work()]) // reported',
      '  await work()',
      '  void work()',
      '  work().catch(() => {})',
      '  work().catch(() => {}).finally(() => {})',
      '  thenable',
      '}',
      'export const wrong: number = "text" // not a promise, but an error',
    ].join('\n'),
  })
  const found = typeProblems(folder).map((line) => line.split(' ')[0])
  t.strictSame(
    found.filter((place) => place.startsWith('app/')).map((place) => place.split(':')[1]),
    ['18', '5', '6', '7', '8', '9', '10', '11'],
  )
})

t.test('a field of a request body that no code reads is reported with its place in the spec', async (t) => {
  const names = [
    'read',
    'taken',
    'indexed',
    'ignored',
    'copied_whole',
    'copied_unknown',
    'narrowed',
    'reused',
  ]
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  const things = { ...properties, file: { type: 'string', format: 'binary' } }
  const post = (operationId: string, schema: string) => ({
    operationId,
    requestBody: {
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    },
  })
  const folder = await project(t, {
    'tsconfig.json': JSON.stringify({
      compilerOptions: { target: 'es2024', module: 'preserve', strict: true, noEmit: true, types: [] },
      include: ['handlers', 'generated'],
    }),
    'generated/openapi.json': JSON.stringify({
      paths: {
        '/things': { post: post('createThing', 'Thing') },
        '/others': { post: post('createOther', 'Other') },
        '/shapes': { post: post('createShape', 'Shape') },
      },
      components: {
        schemas: {
          Thing: { type: 'object', properties: things },
          Shape: { oneOf: ['Circle', 'Square'].map((name) => ({ $ref: `#/components/schemas/${name}` })) },
        },
      },
    }),
    'generated/types.ts': `export interface Thing { ${Object.keys(things)
      .map((name) => `${name}?: string`)
      .join('; ')} }\nexport interface Other { read: string; taken: string }
export type Shape = Circle | Square
export interface Circle { kind: 'circle'; radius: number }
export interface Square { kind: 'square'; side: number }`,
    'spec/openapi.yaml': ['components:', '  schemas:', '    Thing:', '      properties:']
      .concat(Object.keys(things).map((name) => `        ${name}: { type: string }`))
      .concat('    Other:', '      properties:', '        read: {}', '        taken: {}')
      .concat('    Circle:', '      properties:', '        kind: {}', '        radius: {}')
      .concat('    Square:', '      properties:', '        kind: {}', '        side: {}')
      .join('\n'),
    'handlers/things.ts': [
      "import type { Other, Shape, Thing } from '../generated/types'",
      'declare function changesOf<T>(value: T): T',
      'function store(value: { narrowed?: string }): unknown { return value }',
      'function again(value: Pick<Thing, "reused">): unknown { return value.reused }',
      'export function createThing({ body }: { body: Thing }): unknown {',
      '  const { taken, ...rest } = body',
      "  const copiedWhole = 'the name of a column'",
      "  return [body.read, taken, body['indexed'], changesOf(rest), store(body), again(body), copiedWhole]",
      '}',
      'export function createOther({ body }: { body: Other }): string {',
      '  return body.read',
      '}',
      'export function createShape({ body }: { body: Shape }): number {',
      "  return body.kind === 'circle' ? body.radius : 0",
      '}',
    ].join('\n'),
  })
  t.same(
    typeProblems(folder).map((problem) => problem.split('\n')[0]),
    [
      'spec/openapi.yaml:8:9 no code reads the field `ignored` of Thing (createThing): ' +
        'read it in the handler, or remove it',
      'spec/openapi.yaml:10:9 no code reads the field `copied_unknown` of Thing (createThing): ' +
        'read it in the handler, or remove it',
      'spec/openapi.yaml:17:9 no code reads the field `taken` of Other (createOther): ' +
        'read it in the handler, or remove it',
      'spec/openapi.yaml:25:9 no code reads the field `side` of Square (createShape): ' +
        'read it in the handler, or remove it',
    ],
  )
})

t.test('this project has no import against its layers', async (t) => {
  t.strictSame(layerProblems(join(import.meta.dirname, '../..')), [])
})

t.test('each linter of the OpenAPI document reports its mistakes, and no exception hides them', async (t) => {
  const schema = { type: 'object', properties: { size: { type: 'integer' } } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Mistakes', version: '1.0.0' },
    servers: [{ url: 'https://api.acme.dev/v1' }],
    paths: {
      '/things': {
        get: { responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } } },
      },
    },
  }
  const folder = await project(t, { 'openapi.json': JSON.stringify(document) })
  const problems = (await openapiProblems(join(folder, 'openapi.json'))).join('\n')
  for (const rule of [
    'operation-4xx-response',
    'info-license',
    'info-contact',
    'operation-operationId',
    'operation-description',
    'owasp:api4:2023-rate-limit',
    'owasp:api4:2023-integer-format',
    'owasp:api2:2023-read-restricted',
  ])
    t.match(problems, `(${rule})`)
})

t.test('a contract that contradicts itself is reported, each contradiction by its operation', (t) => {
  t.same(contractProblems(contract), [], 'this project has none')
  const seeded: Array<[(document: any) => void, string]> = [
    [
      ({ paths }) => (paths['/explain'].post.parameters = [idempotencyKey]),
      'explainAccess: declares Idempotency-Key, and does not replay its response',
    ],
    [
      ({ paths }) => (paths['/projects'].post['x-idempotency'] = 'none'),
      'createProject: declares Idempotency-Key, and does not replay its response',
    ],
    [
      ({ paths }) => (paths['/projects'].post.description += ' `colour` is optional.'),
      'createProject: the description names `colour`, which no schema of it has',
    ],
    [
      ({ paths }) => (paths['/projects'].post.description += ' Only admins can call this operation.'),
      'createProject: the description says that only admins can call it, and `security` does not',
    ],
    [
      ({ components }) => (components.schemas.LogPagination.properties.next_cursor.type = 'string'),
      'listEvents: `next_cursor` and `has_more` of `pagination` are not those of the other lists',
    ],
    [
      ({ components }) => delete components.schemas.PlatformEventList.properties.pagination,
      'listEvents: `next_cursor` and `has_more` of `pagination` are not those of the other lists',
    ],
    [
      ({ paths }) => without(paths['/storage/files'].get, 'CreatedBy'),
      "listFiles: the list of a project's resources lacks the filter `created_by`",
    ],
    [
      ({ paths }) => without(paths['/storage/files'].get, 'OfOrganization'),
      "listFiles: the list of a project's resources lacks the filter `organization_id`",
    ],
    [
      (document) => document['x-error-codes'].FORBIDDEN.limits.shift(),
      'FORBIDDEN: the constraint `passkeys` is a limit, and `limits` does not list it',
    ],
    [
      (document) => document['x-error-codes'].FORBIDDEN.limits.push('cars'),
      'FORBIDDEN: the limit `cars` is no constraint',
    ],
    [
      ({ components }) => delete components.schemas.ErrorDetails.properties.limit,
      'createProject: the 403 cannot carry `details.limit`',
    ],
  ]
  for (const [seed, problem] of seeded) {
    const document = structuredClone(contract)
    seed(document)
    t.ok(contractProblems(document).includes(problem), problem)
  }
  t.end()
})

const idempotencyKey = { $ref: '#/components/parameters/IdempotencyKey' }

/** Removes a parameter of a list. */
function without(operation: { parameters: Array<{ $ref?: string }> }, name: string): void {
  operation.parameters = operation.parameters.filter(({ $ref }) => $ref?.split('/').at(-1) !== name)
}

t.test('benchmarks of a version before the last minor version are too old', async (t) => {
  const page = (version: string, commit = 'd489df175f') => `- Version: ${version}\n- Commit: ${commit}\n`
  t.equal(benchmarkProblem(page('1.10.0'), '1.10.3'), null)
  t.equal(benchmarkProblem(page('1.10.0'), '1.11.0'), null, 'a release does not need new ones')
  t.match(benchmarkProblem(page('1.10.0'), '1.12.0'), /of version 1.10, this is 1.12.0: run npm run bench/)
  t.equal(benchmarkProblem(page('1.12.0'), '2.0.0'), null)
  t.match(benchmarkProblem(page('1.12.0'), '2.1.0'), /of version 1.12/)
  t.match(benchmarkProblem('No numbers.', '1.10.0'), /names no version/)
  t.match(benchmarkProblem(page('1.10.0', 'd489df175f, with changes'), '1.10.0'), /uncommitted/)
})
