// Documents with something of another JSON type in a place than OpenAPI wants there.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lintOpenapi, unreadable } from '../../lint/lint.ts'
import { generateProject } from '../../generate/project.ts'
import { noticesOf } from '../../openapi/faults.ts'
import { DocumentError, readOpenapi } from '../../openapi/read.ts'

const folder = t.testdir()

function write(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

t.test('null is the same as nothing, and a number is a text where one is expected', async (t) => {
  const document = await readOpenapi(
    write(
      'empty-keys.yaml',
      `openapi: 3.0.3
info: { title: t, version: 1.0 }
tags:
paths:
  /a:
    get:
      tags: [2026]
      parameters:
      responses:
        '204':
        '200':
          description: Done.
          content:
            application/json:
  /b:
components:
  schemas:
    A:
      description:
      properties:
        any:
        limited: { type: string, enum: , maxLength: , required: true }
`,
    ),
  )
  t.same(document.info.version, '1')
  t.same(document.paths, {
    '/a': {
      get: {
        tags: ['2026'],
        responses: { 200: { description: 'Done.', content: { 'application/json': {} } }, 204: {} },
      },
    },
    '/b': {},
  })
  t.same(document.components.schemas.A, { properties: { any: {}, limited: { type: 'string' } } })
})

const path = (get: unknown): object => ({ '/a': { get } })
const schema = (B: unknown): object => ({ paths: {}, components: { schemas: { B } } })

for (const [says, parts] of [
  ['`get` must be an object, not a string.', { paths: path('text') }],
  ['`parameters` must be an array, not an object.', { paths: path({ parameters: {} }) }],
  ['This must be an object, not null.', { paths: path({ parameters: [null] }) }],
  ['`in` is missing.', { paths: path({ parameters: [{ name: 'a' }] }) }],
  ['`url` is missing.', { paths: {}, servers: [{ description: 'None.' }] }],
  ['`tags` must be an array, not a string.', { paths: {}, tags: 'a' }],
  ['`allOf` must be an array, not an object.', schema({ allOf: {} })],
  ['`oneOf` must be an array, not a boolean.', schema({ oneOf: true })],
  ['`maxLength` must be a number, not a string.', schema({ maxLength: '5' })],
  ['"text" is no type.', schema({ type: ['string', 'text'] })],
  ["Can't resolve $ref #/components/schemas/C", schema({ $ref: '#/components/schemas/C' })],
  [
    "Can't resolve $ref #/components/schemas/C",
    schema({ oneOf: [], discriminator: { propertyName: 'a', mapping: { c: '#/components/schemas/C' } } }),
  ],
] as const)
  t.test(`refused by every command: ${says}`, async (t) => {
    const whole = { openapi: '3.1.0', info: { title: 't', version: '1' }, ...parts }
    const file = write('refused.json', JSON.stringify(whole, null, 1))
    const error = await readOpenapi(file).catch((failed: Error) => failed)
    t.type(error, DocumentError)
    t.match(error.message, /refused\.json:([2-9]|\d\d):\d+ /)
    t.ok(error.message.endsWith(says), error.message)
    const problems = await lintOpenapi(file)
    t.match(problems[0], { severity: 'error', rule: unreadable, message: says })
    await t.rejects(generateProject(file, join(folder, 'server')), { message: says })
  })

t.test('an alias without its anchor is named with its place', async (t) => {
  const file = write('alias.yaml', 'openapi: 3.0.3\ninfo: &a\n  title: *b\npaths: {}\n')
  await t.rejects(readOpenapi(file), { message: /alias\.yaml:3:11 unidentified alias "b"$/ })
})

t.test('extensions are data, unless a reference leads into them', async (t) => {
  const file = write(
    'extensions.yaml',
    `openapi: 3.1.0
info: { title: t, version: '1', x-logo: text }
x-tagGroups: { a: 1 }
paths:
  /a:
    x-source: { $ref: ../nowhere.yaml }
    get:
      operationId: getA
      x-codeSamples: none
      parameters: [{ $ref: '#/components/parameters/x-limit' }, { $ref: '#/components/x-parts/Page' }]
      responses: { '200': { $ref: '#/x-answers/Done' } }
components:
  x-parts: { Page: { name: page, in: query, schema: { $ref: '#/components/x-types/Page' } } }
  x-types: { Page: { type: integer } }
  parameters: { x-limit: { name: limit, in: query, schema: { $ref: '#/components/schemas/Limit' } } }
  schemas: { Limit: { type: integer, x-see: { $ref: '#/components/schemas/Nothing' } } }
x-answers:
  Done:
    description: Done.
    content: { application/json: { schema: { $ref: '#/components/x-types/Page' } } }
`,
  )
  const problems = await lintOpenapi(file)
  t.same(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  const document = await readOpenapi(file)
  t.same(document.paths['/a']['x-source'], { $ref: '../nowhere.yaml' })
  t.same(noticesOf(document), [])
})
