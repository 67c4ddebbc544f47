// `changes BEFORE AFTER`: two OpenAPI documents, in any folder and format.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand } from '../main.ts'

type Json = any

const main = join(import.meta.dirname, '../main.ts')

/** Runs the command in this process. */
async function changes(cwd: string, args: string[]) {
  let [stdout, stderr] = ['', '']
  const status = await runCommand(args, cwd, {
    log: (text: string) => (stdout += `${text}\n`),
    error: (text: string) => (stderr += `${text}\n`),
  })
  return { status, stdout, stderr }
}

const pets = (limit: string, name: string): string => `openapi: 3.0.3
info: { title: Pets, version: '1' }
paths:
  /pets:
    get:
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: ${limit} } }
      responses:
        '200':
          description: Pets.
          content:
            application/json:
              schema:
                $ref: '${name}'
`
const pet = `components:
  schemas:
    Pet:
      type: object
      properties:
        name: { type: string, nullable: true }
`

const folder = (t: Test): string =>
  t.testdir({
    old: { 'pets.yaml': pets('100', '#/components/schemas/Pet') + pet },
    new: { 'api.yaml': pets('50', 'parts/pet.yaml#/components/schemas/Pet'), parts: { 'pet.yaml': pet } },
    same: {
      'pets.json': JSON.stringify({
        openapi: '3.1.0',
        info: { title: 'Pets', version: '1' },
        paths: {
          '/pets': {
            get: {
              parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', maximum: 100 } }],
              responses: {
                200: {
                  description: 'Pets.',
                  content: {
                    'application/json': {
                      schema: { type: 'object', properties: { name: { type: ['string', 'null'] } } },
                    },
                  },
                },
              },
            },
          },
        },
      }),
    },
    'swagger.json': JSON.stringify(
      {
        swagger: '2.0',
        info: { title: 'Pets', version: '1' },
        produces: ['application/json'],
        paths: {
          '/pets': {
            get: {
              parameters: [{ name: 'limit', in: 'query', type: 'integer', maximum: 100 }],
              responses: { 200: { description: 'Pets.', schema: { $ref: '#/definitions/Pet' } } },
            },
          },
        },
        definitions: { Pet: { type: 'object', properties: { name: { type: 'string' } } } },
      },
      null,
      2,
    ),
    'broken.yaml': 'openapi: 3.1.0\npaths: {',
    'other.yaml': 'name: no contract\n',
  })

t.test('a breaking change between two files fails with its file and line', async (t: Test) => {
  const found = spawnSync(process.execPath, [main, 'old/pets.yaml', 'new/api.yaml'], {
    cwd: folder(t),
    encoding: 'utf8',
  })
  t.equal(found.status, 1)
  t.equal(found.stderr, '')
  t.match(
    found.stdout,
    'new/api.yaml:7  GET /pets: the query parameter limit changed maximum from 100 to 50 ' +
      '(request-maximum-changed)',
  )
})

t.test('a wider contract is safe, and --breaking leaves it out', async (t: Test) => {
  const cwd = folder(t)
  const found = await changes(cwd, ['new/api.yaml', 'old/pets.yaml'])
  t.match(found, { status: 0, stdout: /^Since new\/api\.yaml:\n\nSafe: 1\n/ })
  const breaking = await changes(cwd, ['--breaking', 'new/api.yaml', 'old/pets.yaml'])
  t.match(breaking, { status: 0, stdout: 'No breaking changes since new/api.yaml.\n' })
  t.equal((await changes(cwd, ['--breaking', 'old/pets.yaml', 'new/api.yaml'])).status, 1)
})

t.test('the same contract in another version and format has no changes', async (t: Test) => {
  const found = await changes(folder(t), ['old/pets.yaml', 'same/pets.json'])
  t.match(found, { status: 0, stdout: 'No changes since old/pets.yaml.\n' })
})

t.test(
  'the place of a change in a part is in the part, and that of Swagger 2.0 in its file',
  async (t: Test) => {
    const list = async (...files: string[]): Promise<Json[]> =>
      JSON.parse((await changes(folder(t), ['--json', ...files])).stdout)
    t.match(await list('swagger.json', 'new/api.yaml'), [
      { rule: 'request-maximum-changed' },
      { rule: 'response-type-added', file: 'new/parts/pet.yaml', line: 6 },
    ])
    t.match(await list('new/api.yaml', 'swagger.json'), [
      { rule: 'request-maximum-changed', file: 'swagger.json' },
      { rule: 'response-type-removed', file: 'swagger.json', line: 37 },
    ])
  },
)

t.test('a document of webhooks only is compared', async (t: Test) => {
  const hooks = (type: string): string =>
    `openapi: 3.1.0\ninfo: { title: Pets, version: '1' }\nwebhooks:\n  born:\n    post:\n` +
    `      requestBody:\n        content: { application/json: { schema: { type: ${type} } } }\n`
  const cwd = t.testdir({ 'a.yaml': hooks('string'), 'b.yaml': hooks('integer') })
  const found = await changes(cwd, ['a.yaml', 'b.yaml'])
  t.match(found, { status: 1, stdout: /b\.yaml:7  event born: the payload can now be integer/ })
})

t.test('what cannot be read ends with code 2 and the name of the file', async (t: Test) => {
  const cwd = folder(t)
  for (const wrong of ['missing.yaml', 'broken.yaml', 'other.yaml']) {
    const found = await changes(cwd, ['old/pets.yaml', wrong])
    t.equal(found.status, 2, wrong)
    t.match(found.stderr, new RegExp(`^Cannot read ${wrong}: .+\n$`))
    t.equal(found.stdout, '')
  }
  t.match(await changes(cwd, ['a', 'b', 'c']), { status: 2, stderr: 'Pass two OpenAPI documents.\n' })
})
