// `npm run generate` in a separate project: the files that it writes and keeps, and `--check`.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { addEither } from '../support/operations/either-operation.ts'
import { miniProject } from '../support/generator/mini-project.ts'

t.test('--check lists edited, missing and unknown files', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate()
  t.match(await project.generate({ check: true }), /is up to date \(12 operations\)/)

  await project.write('generated/types.ts', `${await project.read('generated/types.ts')}// by hand\n`)
  await rm(join(project.folder, 'generated/routes.ts'))
  await project.write('generated/extra.ts', '')
  const error = await project.generateError({ check: true })
  t.strictSame(
    error
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim()),
    ['generated/routes.ts (missing)', 'generated/types.ts', 'generated/extra.ts (not generated)'],
  )
  t.match(error, /npm run generate/)

  await rm(join(project.folder, 'generated/extra.ts'))
  t.match(await project.generate(), /wrote routes\.ts, types\.ts/)
  t.match(await project.generate(), /nothing changed/)
})

t.test('--out keeps other files in the folder', async (t) => {
  const project = await miniProject(t.testdir(), { 'elsewhere/mine.txt': 'mine' })
  await project.generate({ out: join(project.folder, 'elsewhere') })
  t.equal(await project.read('elsewhere/mine.txt'), 'mine')
  t.match(await project.read('elsewhere/operations.ts'), /listThings/)
})

const begun = `// Begun by hand.
import type { Handlers } from '../services/handler.ts'

const limit = 20

export const things = {
  // The comment stays.
  async listThings ({ query }) {
    return { status: 200, body: { data: [], pagination: { limit } } }
  },

  async burnThing () {
    return { status: 204 }
  }
} satisfies Handlers<'things'>

function after (): number { return limit }
`

t.test('--stubs writes missing handlers, changes no existing code and reports unused handlers', async (t) => {
  const project = await miniProject(t.testdir(), { 'handlers/things.ts': begun })
  const stdout = await project.generate({ stubs: true })
  for (const id of ['createThing', 'getThing', 'updateThing', 'useThing'])
    t.match(stdout, `handlers/things.ts: wrote a stub of ${id}`)
  t.notMatch(stdout, /listThings/)
  t.match(stdout, /handlers\/things\.ts: burnThing is not in the spec/)
  t.match(stdout, /handlers\/edge\.ts: wrote a stub of getBatch/, 'a new module')

  const things = await project.read('handlers/things.ts')
  const start = begun.indexOf('\n} satisfies')
  t.equal(things.slice(0, start), begun.slice(0, start), 'what stood before is the same, byte for byte')
  t.equal(things.slice(-begun.slice(start).length), begun.slice(start), 'and what stood after')

  const again = await project.generate({ stubs: true })
  t.notMatch(again, /wrote a stub/)
  t.equal(await project.read('handlers/things.ts'), things, 'the second time there is nothing to do')
})

t.test('a module without its object of handlers is an error and not changed', async (t) => {
  const project = await miniProject(t.testdir(), { 'handlers/things.ts': 'export const other = {}\n' })
  const error = await project.generateError({ stubs: true })
  t.match(error, /things\.ts must export an object `things`/)
  t.notMatch(error, /\n\s+at /)
  t.equal(await project.read('handlers/things.ts'), 'export const other = {}\n')
})

t.test('a new operation changes only lines about it', async (t) => {
  const project = await miniProject(t.testdir())
  await project.generate()
  const files = ['operations.ts', 'routes.ts', 'types.ts', 'validators.js', 'schemas.json', 'serializers.js']
  const before = await Promise.all(files.map((file) => project.read(`generated/${file}`)))
  await project.write(
    'spec/edge.yaml',
    (await project.read('spec/edge.yaml')).replace(
      'paths:\n',
      `paths:
  first:
    get:
      operationId: getFirst
      tags: [edge]
      summary: Stands before all others
      security: []
      parameters: [{ name: depth, in: query, schema: { type: integer, format: int32, enum: [5, 6] } }]
      responses:
        '200':
          description: First.
          content: { application/json: { schema: { $ref: '#/components/schemas/Label' } } }
`,
    ),
  )
  await project.write(
    'spec/openapi.yaml',
    (await project.read('spec/openapi.yaml')).replace(
      'paths:\n',
      "paths:\n  /first: { $ref: 'edge.yaml#/paths/first' }\n",
    ),
  )
  await project.generate()
  for (const [i, file] of files.entries()) {
    const now = new Set((await project.read(`generated/${file}`)).split('\n'))
    const gone = before[i].split('\n').filter((line) => !now.has(line))
    t.strictSame(gone, [], file)
  }
})

const thingOperations = ['listThings', 'createThing', 'getThing', 'updateThing', 'useThing', 'watchThings']
const emptyHandlers = thingOperations.map((id) => `  async ${id} () {}`)
const noThings = `export const things = {\n${emptyHandlers.join(',\n')}\n}\n`

t.test(
  'an operation accepts JSON or a form, each with its own schema, and the handler can distinguish them',
  async (t) => {
    // That the handler compiles is a test of generate-types.test.ts.
    const project = await miniProject(t.testdir(), { 'handlers/things.ts': noThings })
    await addEither(project)
    await project.generate()

    const app = await project.build()
    t.teardown(() => app.close())
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const send = async (
      type?: string,
      payload?: string,
    ): Promise<{ status: number; text: string; error: any }> => {
      const response = await fetch(`${address}/v1/either`, {
        method: 'POST',
        headers: type === undefined ? {} : { 'content-type': type },
        body: payload,
      })
      const text = await response.text()
      return { status: response.status, text, error: response.ok ? null : JSON.parse(text).error }
    }
    const form = (fields: Record<string, string>): string =>
      [
        ...Object.entries(fields).map(
          ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
        ),
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nbytes\r\n--b--\r\n',
      ].join('')

    t.equal((await send('application/json', '{"name":"Lamp"}')).text, 'JSON Lamp')
    t.equal(
      (await send('multipart/form-data; boundary=b', form({ label: 'Light' }))).text,
      'form Light bytes',
    )
    t.match((await send('application/json', '{"label":"Light"}')).error.details, {
      errors: [
        { field: 'name', constraint: 'required' },
        { field: 'label', constraint: 'additionalProperties' },
      ],
    })
    t.match((await send('multipart/form-data; boundary=b', form({ name: 'Lamp' }))).error.details, {
      field: 'name',
      constraint: 'additionalProperties',
    })
    t.match((await send('multipart/form-data; boundary=b', form({ label: 'ab' }))).error.details, {
      field: 'label',
      constraint: 'minLength',
    })
    t.match(
      (await send('application/json', '{"name":"a","name":"b"}')).error,
      { code: 'INVALID_REQUEST' },
      'JSON is validated strictly',
    )
    t.equal(
      (await send('application/json', `{"name":"${'x'.repeat(1024 * 1024)}"}`)).status,
      413,
      'JSON has the usual size limit',
    )
    const other = await send('text/plain', 'Lamp')
    t.equal(other.status, 415)
    t.match(other.error.message, 'application/json or multipart/form-data')
    t.match((await send()).error.details, { field: 'body', constraint: 'required' })
  },
)
