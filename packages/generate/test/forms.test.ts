// Forms in the server that `generate FILE --out FOLDER` writes.
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
    '/papers': {
      post: {
        operationId: 'addPaper',
        tags: ['pets'],
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: {
                oneOf: [
                  { $ref: '#/components/schemas/Scan' },
                  {
                    type: 'object',
                    required: ['kind', 'count'],
                    properties: {
                      kind: { const: 'note' },
                      count: { type: 'integer' },
                      pet: { $ref: '#/components/schemas/Pet' },
                    },
                  },
                ],
              },
            },
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                properties: {
                  pet: { $ref: '#/components/schemas/Pet' },
                  tags: { type: 'array', items: { type: 'string' } },
                },
              },
            },
          },
        },
        responses: { '200': { description: 'It.', content: { 'application/json': { schema: {} } } } },
      },
    },
  },
  components: {
    schemas: {
      Pet: object,
      Scan: {
        type: 'object',
        required: ['kind', 'scan'],
        properties: { kind: { const: 'scan' }, scan: { type: 'string', format: 'binary' } },
      },
    },
  },
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
  async addPaper({ body }) {
    if (!('scan' in body)) return { status: 200, body }
    const scan: File = body.scan
    return { status: 200, body: [...new Uint8Array(await scan.arrayBuffer())] }
  },
} satisfies Handlers<'pets'>
`,
)
const { createServer } = await import(join(folder, 'server/generated/server.ts'))
const app = await createServer()
t.teardown(() => app.close())

type Fields = Array<[name: string, value: string | Blob]>

async function send(fields: Fields, url = '/pets'): Promise<{ status: number; body: any }> {
  const data = new FormData()
  for (const [name, value] of fields) data.append(name, value)
  const request = new Request('http://server/', { method: 'POST', body: data })
  const response = await app.inject({
    method: 'POST',
    url,
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

t.test('the parts of an alternative are files, JSON and text, too', async (t) => {
  const bytes = [0, 200, 255]
  const scan: Fields = [
    ['kind', 'scan'],
    ['scan', new File([new Uint8Array(bytes)], 'a.bin')],
  ]
  t.strictSame(await send(scan, '/papers'), { status: 200, body: bytes })
  const note: Fields = [
    ['kind', 'note'],
    ['count', '5'],
    ['pet', pet],
  ]
  t.strictSame(await send(note, '/papers'), {
    status: 200,
    body: { kind: 'note', count: 5, pet: { name: 'Rex' } },
  })
})

t.test('an object in a form of another type is JSON', async (t) => {
  const post = (payload: string) =>
    app.inject({
      method: 'POST',
      url: '/papers',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      payload,
    })
  const sent = await post(String(new URLSearchParams({ pet, tags: 'ä b' })))
  t.strictSame(sent.json(), { pet: { name: 'Rex' }, tags: ['ä b'] })
  t.strictSame((await post('pet=%7B')).json().problems[0].at, '/pet')
  t.strictSame((await post('tags=a&tags=b')).json(), { tags: ['a', 'b'] })
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
