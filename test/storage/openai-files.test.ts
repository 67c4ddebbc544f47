// The official client of OpenAI, unchanged: files, and searches of knowledge bases.
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import type { components } from '../../generated/types.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { team } from '../support/server/team.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
startDocumentWorker(t, server)
const { owner, editor, viewer, stranger, project } = await team(server)
const clientOf = ({ key }: Pick<Person, 'key'>) =>
  new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 })
const client = clientOf(owner)
const ofProject = (body: OpenAI.FileCreateParams) => ({ ...body, project_id: project.id })

/** The types of the client accept the answers: this compiles. */
type Schemas = components['schemas']
export const asFile = (file: Schemas['OpenAiFile']): OpenAI.FileObject => file
export const asDeleted = (file: Schemas['OpenAiFileDeleted']): OpenAI.FileDeleted => file
export const asResult = (
  result: Schemas['VectorStoreSearchResult'],
): OpenAI.VectorStores.VectorStoreSearchResponse => result

const errorOf = async (request: PromiseLike<unknown>): Promise<unknown> =>
  await Promise.resolve(request).then(
    () => null,
    (error: unknown) => error,
  )
const upload = (name: string, content: string) => toFile(Buffer.from(content), name)

t.test('a file is uploaded, read, downloaded and deleted', async (t) => {
  const file = await upload('notes.txt', 'Ünderwater')
  const created = await client.files.create({
    file,
    purpose: 'assistants',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  })
  t.match(created, {
    id: /^file_/,
    object: 'file',
    bytes: 11,
    filename: 'notes.txt',
    purpose: 'assistants',
    status: 'processed',
  })
  t.equal(created.expires_at! - created.created_at, 3600)
  t.ok(Math.abs(created.created_at - Date.now() / 1000) < 60)
  t.match(await client.files.retrieve(created.id), { id: created.id, purpose: 'assistants' })
  t.match(await client.files.waitForProcessing(created.id), { status: 'processed' })
  const content = await client.files.content(created.id)
  t.equal(await content.text(), 'Ünderwater')
  t.match(content.headers.get('content-disposition'), /^attachment; filename="?notes.txt/)
  const { body: stored } = await owner.client.get(`/storage/files/${created.id}`)
  t.match(stored, { name: 'notes.txt', metadata: { purpose: 'assistants' }, visibility: 'private' })
  t.same(await client.files.delete(created.id), { id: created.id, object: 'file', deleted: true })
  t.match(await errorOf(client.files.retrieve(created.id)), {
    status: 404,
    code: 'NOT_FOUND',
    type: 'invalid_request_error',
  })
})

t.test('a list has pages, an order and a purpose', async (t) => {
  const person = await server.person()
  const ada = clientOf(person)
  const ids: string[] = []
  for (const purpose of ['vision', 'user_data', 'vision', 'user_data', 'vision'] as const) {
    const { id } = await ada.files.create({ file: await upload(`${ids.length}.txt`, 'x'), purpose })
    ids.push(id)
  }
  const listed = async (query: OpenAI.FileListParams) => {
    const found: string[] = []
    for await (const { id } of ada.files.list(query)) found.push(id)
    return found
  }
  t.same(await listed({ limit: 2 }), ids.toReversed())
  t.same(await listed({ limit: 2, order: 'asc' }), ids)
  t.same(await listed({ limit: 1, order: 'asc', purpose: 'user_data' }), [ids[1], ids[3]])
  t.same(await listed({ purpose: 'vision', limit: 10_000 }), [ids[4], ids[2], ids[0]])
  t.same(await listed({ after: ids[2] }), [ids[1], ids[0]])
  const { body } = await person.client.get('/files?limit=2')
  t.match(body, { object: 'list', first_id: ids[4], last_id: ids[3], has_more: true })
  const { body: last } = await person.client.get(`/files?after=${ids[0]}`)
  t.match(last, { data: [], first_id: null, last_id: null, has_more: false })
})

t.test('a file of /storage has the purpose user_data', async (t) => {
  const bytes = Buffer.from('x')
  const { id } = await uploadFile(owner.client, { bytes, fields: { metadata: '{"purpose":"mine"}' } })
  t.match(await client.files.retrieve(id), { purpose: 'user_data' })
  t.match(await client.files.list({ purpose: 'user_data' }), { data: [{ id }] })
})

t.test('what is not supported is named', async (t) => {
  const file = await upload('x.txt', 'x')
  const refused = { status: 400, type: 'invalid_request_error' }
  t.match(await errorOf(client.files.create({ file, purpose: 'evals' })), { ...refused, param: 'purpose' })
  const anchor = { anchor: 'created_at' } as OpenAI.FileCreateParams.ExpiresAfter
  t.match(await errorOf(client.files.create({ file, purpose: 'vision', expires_after: anchor })), {
    ...refused,
    param: 'expires_after[seconds]',
  })
  t.match(await errorOf(client.files.list({ after: 'file-abc' })), { ...refused, param: 'after' })
})

t.test('the role in a project decides', async (t) => {
  const file = await upload('plan.txt', 'plan')
  t.match(await errorOf(clientOf(viewer).files.create(ofProject({ file, purpose: 'vision' }))), {
    status: 403,
    code: 'FORBIDDEN',
  })
  const { id } = await clientOf(editor).files.create(ofProject({ file, purpose: 'vision' }))
  const query = { project_id: project.id } as OpenAI.FileListParams
  t.match(await clientOf(viewer).files.list(query), { data: [{ id }] })
  t.equal(await (await clientOf(viewer).files.content(id)).text(), 'plan')
  t.match(await errorOf(clientOf(viewer).files.delete(id)), { status: 403 })
  const other = clientOf(stranger)
  t.match(await errorOf(other.files.list(query)), { status: 403 })
  t.match(await errorOf(other.files.retrieve(id)), { status: 403 })
  t.match(await errorOf(other.files.content(id)), { status: 403 })
  t.match(await errorOf(other.files.delete(id)), { status: 403 })
  t.match(await other.files.list({ after: id }), { data: [] }, 'the id of another is only a place')
  t.match(await clientOf(editor).files.delete(id), { deleted: true })
})

async function addBase(person: Person, name: string, documents: object[], projectId?: string) {
  const { body: base } = await person.client.post('/ai/knowledge', { name, project_id: projectId })
  for (const document of documents) await person.client.post(`/ai/knowledge/${base.id}/documents`, document)
  await waitUntil(async () => {
    const { body } = await person.client.get(`/ai/knowledge/${base.id}`)
    return body.document_counts.ready === documents.length
  })
  return base.id as string
}

const harbour = {
  name: 'harbour.md',
  text: 'The lantern is in the harbour.',
  metadata: { team: 'port', floor: '9' },
}
const tower = {
  name: 'tower.md',
  text: 'The lantern was in the tower.',
  metadata: { team: 'city', floor: '10' },
}

t.test('a knowledge base is searched as a vector store', async (t) => {
  const { id: fileId } = await client.files.create(
    ofProject({ file: await upload('ferry.txt', 'The ferry has a lantern.'), purpose: 'assistants' }),
  )
  const base = await addBase(owner, 'Harbour', [harbour, tower, { file_id: fileId }], project.id)
  const search = async (body: OpenAI.VectorStores.VectorStoreSearchParams, person: Person = viewer) =>
    await clientOf(person).vectorStores.search(base, body)
  const names = ({ data }: { data: Array<{ filename: string }> }) => data.map(({ filename }) => filename)

  const page = await search({ query: 'ferry lantern', rewrite_query: true })
  t.match(page, {
    object: 'vector_store.search_results.page',
  })
  const raw = async (query: string | string[]) =>
    (await viewer.client.post(`/vector_stores/${base}/search`, { query })).body
  t.match(await raw('lantern'), { search_query: ['lantern'], has_more: false, next_page: null })
  const [best] = page.data
  t.match(best, { file_id: fileId, filename: 'ferry.txt', attributes: {} })
  t.same(best.content, [{ type: 'text', text: 'The ferry has a lantern.' }])
  t.ok(best.score > 0 && best.score <= 1)
  t.equal((await search({ query: 'lantern', max_num_results: 2 })).data.length, 2)
  const both = await search({ query: ['tower', 'harbour', 'tower'], max_num_results: 2 })
  t.same(names(both).sort(), ['harbour.md', 'tower.md'])
  t.match(await raw(['tower', 'tower']), { search_query: ['tower'] })
  const strong = { ranking_options: { ranker: 'auto' as const, score_threshold: best.score } }
  t.same(names(await search({ query: 'ferry lantern', ...strong })), ['ferry.txt'])

  const port = { type: 'eq' as const, key: 'team', value: 'port' }
  const [city, high] = [
    { ...port, value: 'city' },
    { type: 'gte', key: 'floor', value: 10 },
  ]
  const matching = [
    [port, 'harbour.md'],
    [{ ...port, type: 'ne' }, 'ferry.txt tower.md'],
    [{ ...port, type: 'in', value: ['port', 'sea'] }, 'harbour.md'],
    [{ ...port, type: 'nin', value: ['port', 'city'] }, 'ferry.txt'],
    [high, 'tower.md'],
    [{ ...high, type: 'lt' }, 'harbour.md'],
    [{ type: 'eq', key: 'floor', value: 9 }, 'harbour.md'],
    [{ type: 'and', filters: [port, city] }, ''],
    [{ type: 'or', filters: [port, { type: 'and', filters: [city, high] }] }, 'harbour.md tower.md'],
  ] as Array<[OpenAI.ComparisonFilter | OpenAI.CompoundFilter, string]>
  for (const [filters, expected] of matching)
    t.equal(
      names(await search({ query: 'lantern', filters }))
        .sort()
        .join(' '),
      expected,
      JSON.stringify(filters),
    )
  const refused = async (filters: object, param: string) =>
    t.match(
      await errorOf(search({ query: 'lantern', filters: filters as OpenAI.ComparisonFilter })),
      { status: 400, param },
      param,
    )
  await refused({ ...port, type: 'like' }, 'filters.type')
  await refused({ ...port, type: 'in' }, 'filters.value')
  await refused({ ...port, type: 'gt', value: true }, 'filters.value')
  await refused({ type: 'eq', key: 'team' }, 'filters.value')
  await refused({ type: 'and' }, 'filters.filters')
  await refused({ type: 'or', filters: [{ ...port, filters: [port] }] }, 'filters.filters[0].filters')
  t.match(await errorOf(search({ query: 'lantern' }, stranger)), { status: 403 })
})

t.test('several knowledge bases are searched in one ranking', async (t) => {
  const first = await addBase(owner, 'First', [harbour], project.id)
  const second = await addBase(owner, 'Second', [tower])
  const search = async (person: Person, ids: string[], more = {}) =>
    await person.client.post('/ai/search', { query: 'lantern tower', knowledge_base_ids: ids, ...more })
  const namesOf = ({ body }: { body: { data: Array<{ name: string }> } }) => body.data.map(({ name }) => name)
  t.same(namesOf(await search(owner, [first, second])), ['tower.md', 'harbour.md'])
  t.same(namesOf(await search(owner, [first, second], { limit: 1 })), ['tower.md'])
  const filters = { metadata: { team: 'port', floor: '9' } }
  t.same(namesOf(await search(owner, [first, second], { filters })), ['harbour.md'])
  t.same(namesOf(await search(viewer, [first])), ['harbour.md'])
  t.match(await search(viewer, [first, second]), { status: 403 }, 'each base is checked')
  t.match(await search(stranger, [first]), { status: 403 })
  t.match(await search(owner, [first, 'kb_01jd6y8m5qe8btc4y5w1r0n3fz']), { status: 404 })
  t.match(await search(owner, []), { status: 400 })
})
