// Documents through the API: what they are made from, that the same bytes are one document, and how each comes to be ready or
// failed. The readings here are a stand-in's, so that a test says when one ends and how; the real one is at the end.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { fileExpiryTasks } from '../../services/retention-tasks.ts'
import type { BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import { createDocumentWorker, type DocumentWorkerOptions } from '../../services/ai/knowledge/worker.ts'
import type { Reader } from '../../services/ai/knowledge/index-document.ts'
import { ReadingError } from '../../services/ai/parsing/parse.ts'
import { waitingDocumentTasks } from '../../services/ai/knowledge/retention.ts'
import { statement } from '../../infra/database/statements.ts'
import { unavailable } from '../../infra/errors.ts'
import { runRetention } from '../support/retention.ts'
import { newId } from '../../infra/ids.ts'
import type { Reply } from '../support/client.ts'
import { startServer, type Person } from '../support/server.ts'
import { fileCount, formOf, nothingLeft, uploaded, type Upload } from '../support/storage.ts'
import { waitUntil } from '../support/wait.ts'

const server = await startServer(t, { env: { DOCUMENT_MAX_BYTES: '100000' } })
const { services } = server
const { database } = services
const { prisma } = database

/** A chunk a line; what its text says may go wrong. */
const lines: Reader = async ({ path }) => {
  const text = readFileSync(path, 'utf8')
  if (text.includes('damaged')) throw new ReadingError('damaged')
  let start = 0
  const chunks = text.split('\n').map((line) => {
    const chunk = {
      start,
      end: start + line.length,
      page: null,
      heading: null,
      tokens: line.split(' ').length,
      text: line,
    }
    start += line.length + 1
    return chunk
  })
  return { text, pages: null, chunks, tokens: text.split(/\s/).length, language: 'english' }
}

/** Reads documents until the test ends. */
function reading(
  t: Pick<Test, 'teardown'>,
  options: Partial<DocumentWorkerOptions> = {},
): BackgroundWorker & { errors: Error[] } {
  const errors: Error[] = []
  const worker = createDocumentWorker({
    ...services,
    embed: null,
    maxBytes: 100_000,
    concurrency: 2,
    interval: 20,
    read: lines,
    onError: (error) => errors.push(error),
    ...options,
  })
  worker.start()
  t.teardown(() => worker.stop())
  return Object.assign(worker, { errors })
}

/** A gate that readings of documents with this name wait at, and how many have come to it. */
function gated(name: string): { read: Reader; open: () => void; waiting: () => number } {
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  return {
    read: async (source, chunking, options) => {
      if (source.name !== name) return await lines(source, chunking, options)
      waiting++
      await Promise.race([
        gate.promise,
        new Promise((_resolve, reject) =>
          options?.signal?.addEventListener('abort', () => reject(options.signal!.reason)),
        ),
      ])
      return await lines(source, chunking, options)
    },
    open: () => gate.resolve(),
    waiting: () => waiting,
  }
}

async function base(person: Person, body: object = {}): Promise<string> {
  const reply = await person.client.post('/ai/knowledge', { name: 'Handbook', ...body })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body.id
}

const add = async ({ client }: Person, baseId: string, body: object, headers = {}): Promise<Reply> =>
  await client.post(`/ai/knowledge/${baseId}/documents`, body, { headers })

async function added(person: Person, baseId: string, body: object): Promise<any> {
  const reply = await add(person, baseId, body)
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}

async function send({ client }: Person, baseId: string, { headers, ...content }: Upload): Promise<Reply> {
  const form = formOf(content)
  return await client.call('POST', `/ai/knowledge/${baseId}/documents`, {
    raw: form.body,
    headers: { ...form.headers, ...headers },
  })
}

const at = ({ id, knowledge_base_id: baseId }: any): string => `/ai/knowledge/${baseId}/documents/${id}`

async function settled({ client }: Person, document: any): Promise<any> {
  let now: any
  await waitUntil(
    async () => ['ready', 'failed'].includes((now = (await client.get(at(document))).body).status),
    'the reading',
  )
  return now
}

const eventsOf = async (id: string) =>
  (await prisma.event.findMany({ orderBy: { position: 'asc' } })).filter(
    ({ data }) => (data as any).object.id === id,
  )
const typesOf = async (id: string) => (await eventsOf(id)).map(({ type }) => type.replace('document.', ''))
const textsOf = async (documentId: string) =>
  (await prisma.chunk.findMany({ where: { documentId }, orderBy: { position: 'asc' } })).map(
    ({ text }) => text,
  )
const jobs = statement<{ id: string; retry_count: number; state: string }>(
  `SELECT id, retry_count, state::text FROM pgboss.job WHERE name = 'documents' AND data->>'document_id' = $1`,
)
const jobsOf = async (id: string) => await database.sql(jobs, [id])

t.test('a text becomes a document, is read and told of, and can be had as it was read', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  const text = '# Events\nThey are kept for 30 days.'
  const made = await add(person, baseId, { text, metadata: { edition: '1' } })
  t.equal(made.status, 201)
  t.equal(made.headers.get('location'), `/v1${at(made.body)}`)
  t.match(made.body, {
    knowledge_base_id: baseId,
    project_id: null,
    name: 'Events They are kept for 30 days.',
    source: { type: 'text', file_id: null },
    content_type: 'text/markdown',
    status: 'queued',
    error: null,
    sha256: hash('sha256', text),
    tokens: 0,
    chunk_count: 0,
    metadata: { edition: '1' },
    indexed_at: null,
  })
  t.equal((await person.client.get(`${at(made.body)}/text`)).status, 409, 'not yet')
  reading(t)
  const ready = await settled(person, made.body)
  t.match(ready, { status: 'ready', chunk_count: 2, tokens: 8, error: null, indexed_at: String })
  t.same((await person.client.get(`${at(ready)}/text`)).body, { document_id: ready.id, text, pages: null })
  t.same(await textsOf(ready.id), text.split('\n'))
  t.same(await typesOf(ready.id), ['created', 'ready'])
  t.same(await jobsOf(ready.id), [], 'the job is done')
  t.match((await person.client.get(`/ai/knowledge/${baseId}`)).body.document_counts, {
    queued: 0,
    processing: 0,
    ready: 1,
    failed: 0,
  })
  t.match(
    (await person.client.post(`/ai/knowledge/${baseId}/search`, { query: 'how many days' })).body.data,
    [{ document_id: ready.id, text: 'They are kept for 30 days.' }],
  )
})

t.test('a list is searched, filtered and sorted', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  for (const name of ['beta', 'Alpha', 'ga_ma'])
    await added(person, baseId, { text: `damaged ${name}`, name })
  const list = async (query: string) =>
    (await person.client.get(`/ai/knowledge/${baseId}/documents${query}`)).body
  t.same(
    (await list('?sort=name&order=asc')).data.map(({ name }: any) => name),
    ['Alpha', 'beta', 'ga_ma'],
  )
  t.match(await list('?q=a_m'), { data: [{ name: 'ga_ma' }], pagination: { total: 1 } })
  t.match(await list('?status=queued&limit=1'), {
    data: [{ name: 'ga_ma' }],
    pagination: { total: 3, total_pages: 3 },
  })
  t.match(await list('?status=ready'), { data: [], pagination: { total: 0 } })
  t.equal((await person.client.get(`/ai/knowledge/${newId('kb')}/documents`)).status, 404)
})

t.test('a document is there for who may see its knowledge base, and under no other', async (t) => {
  const [person, stranger] = [await server.person(), await server.person()]
  const [baseId, other] = [await base(person), await base(person)]
  const document = await added(person, baseId, { text: 'here' })
  const elsewhere = { ...document, knowledge_base_id: other }
  t.equal((await person.client.get(at(elsewhere))).status, 404)
  t.equal((await person.client.delete(at(elsewhere))).status, 404)
  for (const call of [
    () => stranger.client.get(at(document)),
    () => stranger.client.get(`${at(document)}/text`),
    () => stranger.client.put(at(document), { name: 'x' }),
    () => stranger.client.delete(at(document)),
    () => stranger.client.post(`${at(document)}/retry`),
    () => stranger.client.get(`/ai/knowledge/${baseId}/documents`),
  ])
    t.equal((await call()).status, 403)
  t.equal(
    (await stranger.client.get(at({ ...document, id: newId('doc') }))).status,
    403,
    'what is there is not told to strangers',
  )
  t.same(await typesOf(document.id), ['created'])
})

t.test('the same bytes are one document, however they come and however many at once', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => add(person, baseId, { text: 'the same' })),
  )
  t.same(replies.map(({ status }) => status).sort(), [...Array(49).fill(200), 201])
  t.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
  const { id } = replies[0].body
  const files = await fileCount(server)
  const again = await send(person, baseId, { bytes: 'the same', name: 'same.txt' })
  t.match([again.status, again.body.id], [200, id])
  t.equal(await fileCount(server), files, 'no file is made of what is there')
  await nothingLeft(t, server)
  const file = await uploaded(person.client, { bytes: 'the same', name: 'same.txt' })
  t.equal((await add(person, baseId, { file_id: file.id })).status, 200)
  t.same(await typesOf(id), ['created'])
  t.equal((await jobsOf(id)).length, 1)
  t.equal(
    (await add(person, await base(person), { text: 'the same' })).status,
    201,
    'another knowledge base is another one',
  )
  const racing = await Promise.all(
    Array.from({ length: 8 }, () => send(person, baseId, { bytes: 'a form', name: 'form.txt' })),
  )
  t.same(racing.map(({ status }) => status).sort(), [...Array(7).fill(200), 201])
  t.equal(await fileCount(server), files + 2)
  await nothingLeft(t, server)
})

t.test('an upload becomes a file of the space and a document of it', async (t) => {
  const [owner, editor] = [await server.person(), await server.person()]
  const projectId = (await owner.client.post('/projects', { name: 'Shared' })).body.id
  await owner.client.post(`/projects/${projectId}/members`, { user_id: editor.id, role: 'editor' })
  const baseId = await base(owner, { project_id: projectId })
  const made = await send(editor, baseId, {
    bytes: 'a,b\n1,2\n',
    name: 'numbers.csv',
    type: 'text/csv',
    fields: { metadata: '{"year":"2026"}' },
  })
  t.equal(made.status, 201)
  t.match(made.body, {
    name: 'numbers.csv',
    project_id: projectId,
    source: { type: 'file', file_id: /^file_/ },
    content_type: 'text/csv',
    metadata: { year: '2026' },
  })
  const file = (await owner.client.get(`/storage/files/${made.body.source.file_id}`)).body
  t.match(file, {
    project_id: projectId,
    owner_id: editor.id,
    name: 'numbers.csv',
    sha256: made.body.sha256,
    visibility: 'private',
  })
  const named = await send(editor, baseId, { bytes: 'other', name: 'x.txt', fields: { name: 'Given' } })
  t.equal(named.body.name, 'Given')

  const headers = { 'idempotency-key': 'once' }
  const first = await send(editor, baseId, { bytes: 'keyed', name: 'k.txt', headers })
  const second = await send(editor, baseId, { bytes: 'keyed', name: 'k.txt', headers })
  t.match(
    [first.status, second.status, second.headers.get('idempotent-replayed'), second.body.id],
    [201, 201, 'true', first.body.id],
  )
  t.equal((await send(editor, baseId, { bytes: 'others', name: 'k.txt', headers })).status, 422)
  t.equal((await add(editor, baseId, { text: 'keyed' }, headers)).status, 422)
  await nothingLeft(t, server)
})

t.test(
  'what is too large, of another space, or neither text nor file is refused, and nothing is left',
  async (t) => {
    const [person, other] = [await server.person(), await server.person()]
    const projectId = (await person.client.post('/projects', { name: 'Shared' })).body.id
    const [own, shared] = [await base(person), await base(person, { project_id: projectId })]
    const file = await uploaded(person.client, { bytes: 'own' })
    const theirs = await uploaded(person.client, { bytes: 'shared', fields: { project_id: projectId } })
    const foreign = await uploaded(other.client, { bytes: 'foreign' })
    const large = await uploaded(person.client, { bytes: 'x'.repeat(100_001) })
    const files = await fileCount(server)
    const refusal = ({ status, body }: Reply) => [
      status,
      body.error?.details.field,
      body.error?.details.constraint,
    ]
    t.same(refusal(await add(person, own, { file_id: theirs.id })), [400, 'file_id', 'project'])
    t.same(refusal(await add(person, shared, { file_id: file.id })), [400, 'file_id', 'project'])
    t.equal((await add(person, own, { file_id: foreign.id })).status, 403)
    t.equal((await add(person, own, { file_id: newId('file') })).status, 404)
    t.equal((await add(person, own, { file_id: large.id })).status, 413)
    t.equal((await add(person, own, { text: 'x'.repeat(100_001) })).status, 413)
    t.equal((await send(person, own, { bytes: 'x'.repeat(100_001) })).status, 413)
    t.equal((await add(person, own, {})).status, 400)
    t.equal((await add(person, own, { text: 'a', file_id: file.id })).status, 400)
    t.same(refusal(await add(person, own, { content_type: 'text/csv', file_id: file.id })), [
      400,
      'content_type',
      'text',
    ])
    const blind = await server.person({ scopes: ['ai:read', 'ai:write', 'storage:write'] })
    const unread = await uploaded(blind.client, { bytes: 'unread' })
    t.same(refusal(await add(blind, await base(blind), { file_id: unread.id })), [403, undefined, 'scope'])
    t.equal(await fileCount(server), files + 1)
    t.equal(await prisma.document.count({ where: { knowledgeBaseId: { in: [own, shared] } } }), 0)
    await nothingLeft(t, server)
  },
)

t.test('another text is read anew, and what was there is found until then', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  const document = await added(person, baseId, { text: 'old words', name: 'a' })
  await added(person, baseId, { text: 'of another', name: 'b' })
  const first = reading(t)
  const ready = await settled(person, document)
  await first.stop()
  const etag = (await person.client.get(at(document))).headers.get('etag')!

  t.equal(
    (await person.client.put(at(document), { text: 'of another' })).body.error.details.constraint,
    'sha256',
  )
  const same = await person.client.put(
    at(document),
    { text: 'old words', metadata: { a: 'b' } },
    { headers: { 'if-match': etag } },
  )
  t.match(same.body, { status: 'ready', metadata: { a: 'b' } }, 'the same text is no change')
  const changed = await person.client.put(at(document), { text: 'new words' })
  t.match(changed.body, {
    status: 'queued',
    sha256: hash('sha256', 'new words'),
    chunk_count: 1,
    indexed_at: ready.indexed_at,
  })
  t.equal(
    (await person.client.put(at(document), { text: 'x' }, { headers: { 'if-match': etag } })).status,
    412,
  )
  t.equal((await person.client.post(`${at(document)}/retry`)).status, 409, 'it is to be read already')
  const found = async (query: string) =>
    (
      await person.client.post(`/ai/knowledge/${baseId}/search`, {
        query,
        filters: { document_ids: [document.id] },
      })
    ).body.data.map(({ text }: any) => text)
  t.same(await found('old words'), ['old words'])

  const gate = gated('a')
  reading(t, { read: gate.read })
  await waitUntil(() => gate.waiting() > 0)
  t.match((await person.client.get(at(document))).body.status, 'processing')
  await person.client.put(at(document), { text: 'newest words' })
  gate.open()
  t.match(await settled(person, document), { status: 'ready', sha256: hash('sha256', 'newest words') })
  await waitUntil(async () => (await jobsOf(document.id)).length === 0)
  t.same(
    await textsOf(document.id),
    ['newest words'],
    'the outcome of what is wanted no more counts for nothing',
  )
  t.same(await typesOf(document.id), ['created', 'ready', 'updated', 'updated', 'updated', 'ready'])
  t.equal((await prisma.document.findUnique({ where: { id: document.id } }))!.revision, 2)

  const again = await person.client.post(`${at(document)}/retry`)
  t.match([again.status, again.body.status], [200, 'queued'])
  await settled(person, document)
  t.equal(
    (await prisma.document.findUnique({ where: { id: document.id } }))!.revision,
    2,
    'the same text is no other revision',
  )
  const file = (await send(person, baseId, { bytes: 'a file' })).body
  t.equal((await person.client.put(at(file), { text: 'x' })).status, 409)
  t.equal((await person.client.put(at(file), { name: 'renamed' })).body.name, 'renamed')
})

t.test('what cannot be read fails with the reason, loses what it had, and may be tried again', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  reading(t)
  const document = await added(person, baseId, { text: 'fine' })
  await settled(person, document)
  await person.client.put(at(document), { text: 'damaged' })
  t.match(await settled(person, document), {
    status: 'failed',
    error: { code: 'damaged', message: 'The document is damaged.' },
    chunk_count: 0,
    tokens: 0,
    indexed_at: null,
  })
  t.equal((await person.client.get(`${at(document)}/text`)).status, 409)
  t.same(await textsOf(document.id), [])
  t.same(await typesOf(document.id), ['created', 'ready', 'updated', 'failed'])
  t.match((await person.client.post(`${at(document)}/retry`)).body, { status: 'queued', error: null })
  t.match(await settled(person, document), { status: 'failed' })
})

const forward = statement(
  `UPDATE pgboss.job SET start_after = now() WHERE name = 'documents' AND data->>'document_id' = $1 AND state < 'active'`,
)

t.test('trouble that may pass is waited for, a few times', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  let failures = 2
  const embed = async (texts: string[]): Promise<number[][]> => {
    if (failures-- > 0) throw unavailable('no vectors')
    return texts.map(() => [1, 0, 0])
  }
  const { errors } = reading(t, { embed })
  const document = await added(person, baseId, { text: 'patient' })
  for (const tries of [1, 2]) {
    await waitUntil(() => errors.length === tries)
    await waitUntil(async () => (await person.client.get(at(document))).body.status === 'queued')
    await database.sql(forward, [document.id])
  }
  t.equal((await settled(person, document)).status, 'ready')
  t.same(await prisma.$queryRawUnsafe(`SELECT embedding FROM chunks WHERE document_id = '${document.id}'`), [
    { embedding: [1, 0, 0] },
  ])
  failures = Infinity
  await person.client.post(`${at(document)}/retry`)
  let now: any
  await waitUntil(async () => {
    await database.sql(forward, [document.id])
    return (now = (await person.client.get(at(document))).body).status === 'failed'
  })
  t.match(now, { error: { code: 'unavailable' }, chunk_count: 1 })
  t.equal(errors.length, 2 + 5)
  failures = 0
  await person.client.post(`${at(document)}/retry`)
  t.equal((await settled(person, document)).status, 'ready')
})

t.test('a document whose readers are lost again and again is given up, and keeps what it had', async (t) => {
  const person = await server.person()
  const document = await added(person, await base(person), { text: 'deadly' })
  const first = reading(t)
  await settled(person, document)
  await first.stop()
  await person.client.post(`${at(document)}/retry`)
  await database.pool.query(
    `UPDATE pgboss.job SET retry_count = 1, started_on = now(), state = 'retry' WHERE name = 'documents' AND data->>'document_id' = $1`,
    [document.id],
  )
  const { errors } = reading(t)
  t.match(await settled(person, document), {
    status: 'failed',
    error: { code: 'unavailable' },
    chunk_count: 1,
  })
  t.same(await textsOf(document.id), ['deadly'])
  t.match(errors, [{ message: new RegExp(document.id) }])
})

t.test("who takes over another's job is the only one whose outcome counts", async (t) => {
  const person = await server.person()
  const gate = gated('taken over')
  reading(t, { read: gate.read })
  const document = await added(person, await base(person), { text: 'taken over' })
  await waitUntil(() => gate.waiting() === 1)
  // As the queue does when it has heard nothing for long.
  await database.pool.query(
    `UPDATE pgboss.job SET state = 'retry' WHERE name = 'documents' AND data->>'document_id' = $1`,
    [document.id],
  )
  await waitUntil(() => gate.waiting() === 2)
  gate.open()
  t.equal((await settled(person, document)).status, 'ready')
  await waitUntil(async () => (await jobsOf(document.id)).length === 0)
  t.same(await typesOf(document.id), ['created', 'ready'])
  t.same(await textsOf(document.id), ['taken over'])
})

t.test('a stop gives what is under way back, and another goes on', async (t) => {
  const person = await server.person()
  const gate = gated('interrupted')
  const first = reading(t, { read: gate.read, drainTimeoutMs: 50 })
  const document = await added(person, await base(person), { text: 'interrupted' })
  await waitUntil(() => gate.waiting() === 1)
  await first.stop()
  t.equal((await person.client.get(at(document))).body.status, 'queued')
  t.match(await jobsOf(document.id), [{ retry_count: 0, state: 'created' }])
  reading(t)
  t.equal((await settled(person, document)).status, 'ready')
})

t.test('a document that waits without a job gets one', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  const [lost, waiting] = [
    await added(person, baseId, { text: 'lost' }),
    await added(person, baseId, { text: 'waiting' }),
  ]
  await database.pool.query(`DELETE FROM pgboss.job WHERE name = 'documents' AND data->>'document_id' = $1`, [
    lost.id,
  ])
  await prisma.document.updateMany({
    where: { id: { in: [lost.id, waiting.id] } },
    data: { updatedAt: new Date(Date.now() - 3_600_000) },
  })
  await runRetention(database, { tasks: waitingDocumentTasks(services.documents) })
  t.equal((await jobsOf(lost.id)).length, 1)
  t.equal((await jobsOf(waiting.id)).length, 1)
  reading(t)
  for (const document of [lost, waiting]) t.equal((await settled(person, document)).status, 'ready')
})

t.test('who adds many holds up nobody who adds one', async (t) => {
  const [many, few] = [await server.person(), await server.person()]
  const [large, small] = [await base(many), await base(few)]
  for (let i = 0; i < 40; i++) await added(many, large, { text: `${i}`, name: 'many' })
  await added(few, small, { text: '1', name: 'few' })
  await added(few, small, { text: '2', name: 'few' })
  const order: string[] = []
  reading(t, {
    concurrency: 1,
    read: async (source, ...rest) => {
      if (source.name === 'many' || source.name === 'few') order.push(source.name)
      return await lines(source, ...rest)
    },
  })
  await waitUntil(
    async () => (await many.client.get(`/ai/knowledge/${large}`)).body.document_counts.ready === 40,
  )
  t.ok(order.lastIndexOf('few') <= 4, `the last of few was number ${order.lastIndexOf('few') + 1}`)
})

t.test('whose documents take long leaves a place to others', async (t) => {
  const [slow, quick] = [await server.person(), await server.person()]
  const [large, small] = [await base(slow), await base(quick)]
  const gate = gated('slow')
  const mine = []
  for (let i = 0; i < 3; i++) mine.push(await added(slow, large, { text: `${i}`, name: 'slow' }))
  for (let i = 0; i < 4; i++) await added(quick, small, { text: `${i}`, name: 'quick' })
  reading(t, { concurrency: 2, read: gate.read })
  await waitUntil(
    async () => (await quick.client.get(`/ai/knowledge/${small}`)).body.document_counts.ready === 4,
    'the others',
  )
  await waitUntil(() => gate.waiting() === 2, 'both places, once nobody waits')
  gate.open()
  for (const document of mine) t.equal((await settled(slow, document)).status, 'ready')
})

t.test('a document goes with its file, whoever deletes it and when its time is over', async (t) => {
  const person = await server.person()
  const [a, b] = [await base(person), await base(person)]
  const file = await uploaded(person.client, { bytes: 'of a file' })
  const ended = await uploaded(person.client, { bytes: 'of another' })
  const documents = [
    await added(person, a, { file_id: file.id }),
    await added(person, b, { file_id: file.id }),
    await added(person, b, { file_id: ended.id }),
  ]
  reading(t)
  for (const document of documents) await settled(person, document)
  t.equal((await person.client.delete(`/storage/files/${file.id}`)).status, 204)
  for (const document of documents.slice(0, 2)) {
    t.equal((await person.client.get(at(document))).status, 404)
    t.same(await typesOf(document.id), ['created', 'ready', 'deleted'])
    t.same(await textsOf(document.id), [])
  }
  await prisma.file.update({ where: { id: ended.id }, data: { expiresAt: new Date(Date.now() - 1) } })
  await runRetention(database, { tasks: fileExpiryTasks(services) })
  t.same(await typesOf(documents[2].id), ['created', 'ready', 'deleted'])
  t.match((await person.client.get(`/ai/knowledge/${b}`)).body.document_counts, { ready: 0 })
})

t.test('one that is deleted while it is read leaves nothing', async (t) => {
  const person = await server.person()
  const gate = gated('gone')
  reading(t, { read: gate.read })
  const document = await added(person, await base(person), { text: 'gone' })
  await waitUntil(() => gate.waiting() === 1)
  t.equal((await person.client.delete(at(document))).status, 204)
  gate.open()
  await waitUntil(async () => (await jobsOf(document.id)).length === 0)
  t.same(await typesOf(document.id), ['created', 'deleted'])
  t.same(await textsOf(document.id), [])
  await nothingLeft(t, server)
})

t.test('the real reading: Markdown, HTML and CSV, found by their words', async (t) => {
  const person = await server.person()
  const baseId = await base(person)
  const { errors } = reading(t, { read: undefined })
  const made = [
    await send(person, baseId, {
      bytes: '# Leave\n\nEmployees have thirty days of holiday.',
      name: 'leave.md',
      type: 'text/markdown',
    }),
    await send(person, baseId, {
      bytes: '<html><body><h1>Keys</h1><p>The office key is with the porter.</p></body></html>',
      name: 'keys.html',
      type: 'text/html',
    }),
    await add(person, baseId, {
      text: 'name,room\nAda,12\nGrace,14\n',
      content_type: 'text/csv',
      name: 'rooms.csv',
    }),
  ]
  for (const { body } of made) t.match(await settled(person, body), { status: 'ready' })
  t.match(
    (await person.client.post(`/ai/knowledge/${baseId}/search`, { query: 'who has the key of the office' }))
      .body.data[0],
    { document_id: made[1].body.id },
  )
  t.match(
    (
      await send(person, baseId, {
        bytes: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]),
        name: 'a.png',
      })
    ).status,
    201,
  )
  await waitUntil(
    async () => (await person.client.get(`/ai/knowledge/${baseId}`)).body.document_counts.failed === 1,
  )
  t.match((await person.client.get(`/ai/knowledge/${baseId}/documents?status=failed`)).body.data, [
    { error: { code: 'unsupported' } },
  ])
  t.same(errors, [])
})
