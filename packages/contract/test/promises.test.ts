// What a run finds beside wrong statuses and shapes, in the server of a stranger: each defect is found at its
// operation, and the healthy server has no finding.
import { createServer } from 'node:http'
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { openapi } from '../profile.ts'
import { runContract, type Outcome } from '../run-all.ts'
import { reportAsText } from '../text.ts'
import { listen } from '../../../test/support/http/listen.ts'

const id = { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }
const note = { $ref: '#/components/schemas/Note' }
const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const answers = (...codes: number[]) =>
  Object.fromEntries(codes.map((code) => [code, { description: 'An error.' }]))
const etag = { ETag: { required: true, schema: { type: 'string' } } }
const binary = { schema: { type: 'string', format: 'binary' } }

const contract = {
  openapi: '3.1.0',
  info: { title: 'Notes', version: '1' },
  paths: {
    '/notes': {
      get: {
        operationId: 'listNotes',
        responses: {
          200: {
            description: 'All notes.',
            ...json({
              type: 'object',
              required: ['notes', 'total'],
              properties: { notes: { type: 'array', items: note }, total: { type: 'integer' } },
            }),
          },
        },
      },
      post: {
        operationId: 'createNote',
        requestBody: { required: true, ...json({ $ref: '#/components/schemas/NoteCreate' }) },
        responses: { 201: { description: 'The note.', headers: etag, ...json(note) }, ...answers(400) },
      },
    },
    '/notes/{id}': {
      parameters: [id],
      get: {
        operationId: 'getNote',
        responses: { 200: { description: 'The note.', headers: etag, ...json(note) }, ...answers(404) },
      },
      patch: {
        operationId: 'updateNote',
        requestBody: { required: true, ...json({ $ref: '#/components/schemas/NoteUpdate' }) },
        responses: {
          200: { description: 'The note.', headers: etag, ...json(note) },
          ...answers(400, 404, 412),
        },
      },
      delete: {
        operationId: 'deleteNote',
        responses: { 204: { description: 'It is gone.' }, ...answers(404) },
      },
    },
    '/notes/{id}/attachment': {
      parameters: [id],
      get: {
        operationId: 'getAttachment',
        responses: {
          200: {
            description: 'The bytes.',
            headers: { 'Content-Disposition': { required: true, schema: { type: 'string' } } },
            content: { 'image/png': binary, 'text/plain': binary },
          },
          ...answers(404),
        },
      },
      put: {
        operationId: 'putAttachment',
        requestBody: { required: true, content: { 'image/png': binary, 'text/plain': binary } },
        responses: { 204: { description: 'It is stored.' }, ...answers(404, 415) },
      },
      delete: {
        operationId: 'deleteAttachment',
        responses: { 204: { description: 'It is gone.' }, ...answers(404) },
      },
    },
  },
  components: {
    schemas: {
      Note: {
        type: 'object',
        required: ['id', 'title', 'color'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          title: { type: 'string' },
          color: { type: 'string', enum: ['red', 'blue'] },
        },
      },
      NoteCreate: {
        type: 'object',
        additionalProperties: false,
        required: ['title'],
        properties: {
          title: { type: 'string', minLength: 1, maxLength: 100 },
          color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
        },
      },
      NoteUpdate: {
        type: 'object',
        additionalProperties: false,
        minProperties: 1,
        properties: {
          title: { type: 'string', minLength: 1, maxLength: 100 },
          color: { type: 'string', enum: ['red', 'blue'] },
        },
      },
    },
  },
}

interface Note {
  id: string
  title: string
  color: string
  version: number
  file?: { type: string; bytes: Buffer }
}

/** Whether the body meets the schema of the contract. */
function isValid(body: any, isCreation: boolean): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false
  const { title, color, ...others } = body
  const isTitle = typeof title === 'string' && title !== '' && [...title].length <= 100
  return (
    Object.keys(others).length === 0 &&
    (isTitle || (title === undefined && !isCreation && color !== undefined)) &&
    (color === undefined || color === 'red' || color === 'blue')
  )
}

async function startNotes(t: Test, defect: string | null): Promise<string> {
  const notes = new Map<string, Note>()
  const server = createServer(async (request, response) => {
    const bytes = Buffer.concat(await Array.fromAsync(request))
    const end = (status: number, body?: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    }
    const show = (status: number, { id, title, color, version }: Note): void =>
      end(status, { id, title, color }, { etag: `"${version}"` })
    const [, own, sub] = request.url!.split('?')[0].split('/').slice(1)
    const method = request.method!
    const known = notes.get(own)
    const type = request.headers['content-type'] ?? ''
    let body: any
    if (type === 'application/json')
      try {
        body = JSON.parse(bytes.toString())
      } catch {
        return end(400)
      }
    if (own === undefined && method === 'GET')
      return end(200, {
        notes: [...notes.values()].map(({ id, title, color }) => ({ id, title, color })),
        total: notes.size + (defect === 'total' ? 1 : 0),
      })
    if (own === undefined && method === 'POST') {
      if (!isValid(body, true)) return end(400)
      const made: Note = {
        id: randomUUID(),
        title: defect === 'trim' ? body.title.trim() || '-' : body.title,
        color: body.color ?? (defect === 'default' ? 'blue' : 'red'),
        version: 1,
      }
      notes.set(made.id, made)
      return show(201, made)
    }
    if (known === undefined) return end(404)
    if (sub === undefined && method === 'GET') return show(200, known)
    if (sub === undefined && method === 'DELETE') return notes.delete(own) ? end(204) : end(404)
    if (sub === undefined && method === 'PATCH') {
      const isEmpty = JSON.stringify(body) === '{}'
      if (!isValid(body, false) && !(isEmpty && defect === 'minProperties')) return end(400)
      const wanted = request.headers['if-match']
      if (wanted !== undefined && wanted !== `"${known.version}"` && defect !== 'if-match') return end(412)
      Object.assign(known, body, { version: known.version + 1 })
      return show(200, known)
    }
    if (sub === 'attachment' && method === 'PUT') {
      if (type !== 'image/png' && type !== 'text/plain') return end(415)
      if (bytes.length === 0 && defect === 'empty') return end(500)
      known.file = { type, bytes: defect === 'truncated' ? bytes.subarray(0, 10) : bytes }
      return end(204)
    }
    if (sub !== 'attachment' || known.file === undefined) return end(404)
    if (method === 'DELETE') {
      if (defect !== 'deletion') delete known.file
      return end(204)
    }
    response.writeHead(200, {
      'content-type': defect === 'type' ? 'text/plain' : known.file.type,
      ...(defect !== 'disposition' && { 'content-disposition': 'attachment' }),
    })
    response.end(known.file.bytes)
  })
  return `http://127.0.0.1:${await listen(t, server)}`
}

async function runOn(base: string, document: object = contract): Promise<Outcome> {
  return await runContract({
    profile: openapi,
    document: openapi.prepare(structuredClone(document)),
    base,
    key: null,
    secondKey: null,
    seed: 5,
    runs: 8,
    readOnly: false,
    selected: () => true,
    time: 60_000,
    onProgress: () => {},
  })
}

t.test('the healthy server has no finding, and every operation succeeds', async (t) => {
  const { findings, unfinished } = await runOn(await startNotes(t, null))
  t.same(findings.all, [])
  t.same(unfinished, [])
})

for (const [defect, operation, check] of [
  ['total', 'listNotes', 'total'],
  ['trim', 'createNote', 'create-value'],
  ['default', 'createNote', 'default'],
  ['minProperties', 'updateNote', 'accepted'],
  ['if-match', 'updateNote', 'if-match'],
  ['empty', 'putAttachment', 'server-error'],
  ['truncated', 'getAttachment', 'put-read'],
  ['type', 'getAttachment', 'put-read'],
  ['disposition', 'getAttachment', 'header'],
  ['deletion', 'deleteAttachment', 'deleted-read'],
])
  t.test(`the defect "${defect}" is found at ${operation}`, async (t) => {
    const { findings } = await runOn(await startNotes(t, defect))
    const found = findings.all.map((each) => `${each.operation} ${each.check}`)
    t.ok(
      findings.all.some((each) => each.operation === operation && each.check.startsWith(check)),
      found.join(', '),
    )
  })

t.test('an operation that never succeeds is not checked, and the report says why', async (t) => {
  const { paths, ...others } = structuredClone(contract) as any
  paths['/notes'].post.requestBody.content['application/json'].schema = {
    type: 'object',
    properties: { title: { type: 'integer' } },
  }
  const url = await startNotes(t, null)
  const outcome = await runOn(url, { ...others, paths })
  const reasons = Object.fromEntries(outcome.unfinished.map(({ operation, reason }) => [operation, reason]))
  t.match(reasons['createNote'], /^it never succeeded: 400/)
  t.match(reasons['getNote'], /no resource|never succeeded: 404/)
  t.match(reportAsText(outcome, url, {}), /Not checked: valid, because it never succeeded: 400: createNote/)
})
