// Multipart forms in the server that `generate FILE --out FOLDER` writes.
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { generateProject } from '../project.ts'

const root = resolve(import.meta.dirname, '../../..')
const object = { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 9 } } }
const form = {
  type: 'object',
  required: ['pet', 'photo'],
  properties: {
    pet: { $ref: '#/components/schemas/Pet' },
    age: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { type: 'string' } },
    owners: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
    note: { type: 'string' },
    scores: { type: 'array', items: { type: 'integer' } },
    photo: { type: 'string', format: 'binary', maxLength: 5 },
    scans: { type: 'array', items: { type: 'string', format: 'binary' } },
  },
}
const document = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  paths: {
    '/pets': {
      post: {
        operationId: 'addPet',
        tags: ['pets'],
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: form,
              encoding: { scores: { contentType: 'application/json' } },
            },
          },
        },
        responses: { '200': { description: 'It.', content: { 'application/json': { schema: {} } } } },
      },
    },
  },
  components: { schemas: { Pet: object } },
}

const folder = t.testdir({ 'pets.json': JSON.stringify(document) })
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
await generateProject(join(folder, 'pets.json'), join(folder, 'server'), { bodyLimit: 10_000 })
writeFileSync(
  join(folder, 'server/handlers/pets.ts'),
  `import type { Handlers } from '../generated/handler.ts'

export const pets = {
  async addPet({ body: { pet, age, tags, owners, note, scores, photo, scans } }) {
    const name: string = pet.name
    const bytes: ArrayBuffer = await photo.arrayBuffer()
    const scanned: string[] | undefined = scans?.map((scan) => scan.name)
    const owner: string | undefined = owners?.[0]?.name
    const sum: number | undefined = age === undefined ? undefined : age + (scores?.[0] ?? 0)
    const fields = { name, tags, owners, owner, note, scores, sum, scanned }
    const content = Buffer.from(bytes).toString()
    return { status: 200, body: { ...fields, photo: [photo.name, photo.type, content] } }
  },
} satisfies Handlers<'pets'>
`,
)
const { createServer } = await import(join(folder, 'server/generated/server.ts'))
const app = await createServer()
t.teardown(() => app.close())

type Fields = Array<[name: string, value: string | Blob]>

async function send(fields: Fields): Promise<{ status: number; body: any }> {
  const data = new FormData()
  for (const [name, value] of fields) data.append(name, value)
  const request = new Request('http://server/', { method: 'POST', body: data })
  const response = await app.inject({
    method: 'POST',
    url: '/pets',
    headers: { 'content-type': request.headers.get('content-type')! },
    payload: Buffer.from(await request.arrayBuffer()),
  })
  return { status: response.statusCode, body: response.json() }
}

const photo = new File(['abc'], 'rex.png', { type: 'image/png' })
const pet = JSON.stringify({ name: 'Rex' })

t.test('the handler gets JSON parts as values, files as files, and text with its types', async (t) => {
  const ann = JSON.stringify({ name: 'Ann' })
  const sent = await send([
    ['pet', new Blob([pet], { type: 'application/json' })],
    ['age', '3'],
    ['tags', 'good'],
    ['owners', ann],
    ['owners', pet],
    ['note', '{"not":"parsed"}'],
    ['scores', '[1,2]'],
    ['photo', photo],
    ['scans', photo],
  ])
  t.strictSame(sent, {
    status: 200,
    body: {
      name: 'Rex',
      tags: ['good'],
      owners: [{ name: 'Ann' }, { name: 'Rex' }],
      owner: 'Ann',
      note: '{"not":"parsed"}',
      scores: [1, 2],
      sum: 4,
      scanned: ['rex.png'],
      photo: ['rex.png', 'image/png', 'abc'],
    },
  })
})

t.test('the parts are validated', async (t) => {
  const cases: Array<[fields: Fields, at: string]> = [
    [[['photo', photo]], ''],
    [[['pet', pet]], ''],
    [
      [
        ['pet', '{"name":'],
        ['photo', photo],
      ],
      '/pet',
    ],
    [
      [
        ['pet', '{"name":"Bartholomew"}'],
        ['photo', photo],
      ],
      '/pet/name',
    ],
    [
      [
        ['pet', pet],
        ['photo', photo],
        ['age', '-1'],
      ],
      '/age',
    ],
    [
      [
        ['pet', pet],
        ['photo', new File(['abcdef'], 'long.png')],
      ],
      '/photo',
    ],
  ]
  for (const [fields, at] of cases) {
    const { status, body } = await send(fields)
    t.equal(status, 400, at)
    t.equal(body.problems[0].at, at)
  }
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const broken = await app.inject({ method: 'POST', url: '/pets', headers, payload: 'no form' })
  t.equal(broken.statusCode, 400)
})

t.test('a body that is longer than the configured limit is a 413', async (t) => {
  const long = new File([Buffer.alloc(10_000)], 'long.png')
  t.match(await send([['photo', long]]), { status: 413, body: { status: 413 } })
})

t.test('the server compiles', async (t) => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const run = promisify(execFile)(process.execPath, [tsc, '-p', join(folder, 'server')], { cwd: folder })
  t.equal(await run.then(() => '').catch(({ stdout }: { stdout: string }) => stdout), '')
})
