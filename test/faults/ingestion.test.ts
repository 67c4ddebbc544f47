// Kills the worker with SIGKILL while it parses documents. Each document must end exactly once, either ready
// with all chunks or failed with a reason. `npm run faults` kills 10 times during 1,000 documents, and some
// are interrupted twice; `npm test` kills once during 12. Four are parsed at a time, so each kill interrupts
// some. A sync of a source is killed, too.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { parseDocument } from '../../services/ai/parsing/parse.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { spawnWorker } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { listen } from '../support/http/listen.ts'
import { uploadForm } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const kills = isLongForm ? 10 : 1
const documents = isLongForm ? 1_000 : 12
/** Every eighth document is a damaged PDF. */
const damagedInterval = 8

/** All texts have the same length, so that they are split into the same chunks. */
const textOf = (i: number): string =>
  Array.from(
    { length: 12 },
    (_, part) => `## Part ${part}\n\n${`Document ${String(i).padStart(4, '0')} says a thing. `.repeat(20)}`,
  ).join('\n\n')

t.test(
  `${documents} documents complete although the worker is killed ${kills} times`,
  { timeout: isLongForm ? 3_600_000 : 240_000 },
  async (t) => {
    const { url: databaseUrl } = await createTestDatabase(t)
    const folder = t.testdir({})
    const env = { DATABASE_URL: databaseUrl, STORAGE_DIR: join(folder, 'files'), DOCUMENT_CONCURRENCY: '4' }
    const database = new pg.Pool({ connectionString: databaseUrl, max: 2 })
    database.on('error', () => {})
    t.teardown(() => database.end())
    const rows = async (query: string): Promise<any[]> => (await database.query(query)).rows
    const count = async (query: string): Promise<number> => Number((await rows(query))[0].count)

    const sample = join(folder, 'sample')
    writeFileSync(sample, textOf(0))
    const expected = (
      await parseDocument(
        { path: sample, contentType: 'text/markdown', name: 'a.md' },
        { maxTokens: 100, overlapTokens: 20 },
      )
    ).chunks.map(({ start, end }) => `${start}-${end}`)

    const server = await startServer(t, { databaseUrl, env: { STORAGE_DIR: env.STORAGE_DIR } })
    const { key } = await server.person()
    let worker = await spawnWorker(t, env)
    const call = async (
      path: string,
      body: string | Buffer<ArrayBuffer>,
      headers: Record<string, string>,
    ): Promise<any> => {
      const answer = await fetch(`${server.url}/v1/ai/knowledge${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body,
      })
      if (answer.status !== 201) throw new Error(await answer.text())
      return await answer.json()
    }
    const json = { 'content-type': 'application/json' }
    const bases = [] as string[]
    for (const name of ['one', 'two', 'three'])
      bases.push(
        (await call('', JSON.stringify({ name, chunking: { max_tokens: 100, overlap_tokens: 20 } }), json))
          .id,
      )
    for (let i = 0; i < documents; i++) {
      const path = `/${bases[i % bases.length]}/documents`
      const form = uploadForm({
        bytes: i % damagedInterval === 0 ? `%PDF-1.7 ${i} and no more` : textOf(i),
        name: i % damagedInterval === 0 ? 'a.pdf' : 'a.md',
        type: null,
      })
      await (i % 3 === 0 || i % damagedInterval === 0
        ? call(path, form.body, form.headers)
        : call(path, JSON.stringify({ text: textOf(i) }), json))
    }

    const countDone = async (): Promise<number> =>
      await count("SELECT count(*) FROM documents WHERE status IN ('ready', 'failed')")
    let interrupted = 0
    for (let kill = 1; kill <= kills; kill++) {
      await waitUntil(
        async () => (await countDone()) >= (kill * documents) / (kills + 2),
        'the next kill',
        1_800_000,
      )
      await worker.end('SIGKILL')
      interrupted += await count(
        "SELECT count(*) FROM jobs WHERE queue = 'documents' AND fetches > 0 AND due_at > now()",
      )
      worker = await spawnWorker(t, env)
    }
    await waitUntil(async () => (await countDone()) === documents, 'all documents to be done', 1_800_000)
    await waitUntil(
      async () => (await count("SELECT count(*) FROM jobs WHERE queue = 'documents'")) === 0,
      'the queue to be empty',
    )

    const failed = await rows(
      "SELECT error ->> 'code' AS code, content_type FROM documents WHERE status = 'failed'",
    )
    const unavailable = failed.filter(({ code }) => code === 'unavailable').length
    t.ok(
      failed.every(({ code }) => ['damaged', 'empty', 'unsupported', 'unavailable'].includes(code)),
      'a failed document has a reason',
      { failed },
    )
    t.equal(
      failed.filter(({ content_type: type }) => type === 'application/pdf').length,
      Math.ceil(documents / damagedInterval),
      'damaged documents failed',
    )
    t.equal(
      failed.filter(({ content_type: type, code }) => type !== 'application/pdf' && code !== 'unavailable')
        .length,
      0,
      'others failed only if they were interrupted twice',
    )
    const ends = await rows(
      `SELECT data -> 'object' ->> 'id' AS id, count(*) FROM events
      WHERE type IN ('document.ready', 'document.failed') GROUP BY 1 HAVING count(*) <> 1`,
    )
    t.same(ends, [], 'each document has one event')
    t.equal(
      await count(
        `SELECT count(DISTINCT data -> 'object' ->> 'id') FROM events
        WHERE type IN ('document.ready', 'document.failed')`,
      ),
      documents,
    )
    const found = await rows(`
      SELECT d.id, d.status::text, d.chunk_count,
        array_agg(c.start_index || '-' || c.end_index ORDER BY c.position)
          FILTER (WHERE c.id IS NOT NULL) AS chunks,
        bool_and(substr(x.text, c.start_index + 1, c.end_index - c.start_index) = c.text) AS same,
        count(DISTINCT x.document_id) AS texts
      FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
        LEFT JOIN document_texts x ON x.document_id = d.id
      GROUP BY d.id`)
    t.same(
      found.filter(
        ({ status, chunks, chunk_count: n, same }) =>
          status === 'ready' &&
          !(n === expected.length && same === true && chunks.join() === expected.join()),
      ),
      [],
      'a ready document has all chunks',
    )
    t.same(
      found.filter(
        ({ status, chunks, chunk_count: n, texts }) =>
          status === 'failed' && !(n === 0 && chunks === null && Number(texts) === 0),
      ),
      [],
      'a failed document has no chunks',
    )
    const wrong = await rows(`
      SELECT k.id FROM knowledge_bases k JOIN LATERAL (
        SELECT coalesce(sum(chunks), 0) AS n FROM chunk_counts WHERE knowledge_base_id = k.id
      ) counted ON true
      WHERE n <> (SELECT count(*) FROM chunks WHERE knowledge_base_id = k.id)
        + (SELECT count(*) FROM removed_chunks WHERE knowledge_base_id = k.id)`)
    t.same(wrong, [], 'the chunk counts are correct')
    t.comment(
      `${documents} documents, ${kills} kills: ${interrupted} jobs were interrupted, ` +
        `${failed.length} documents failed, ${unavailable} of them because they were interrupted twice`,
    )
    await worker.end('SIGTERM')
  },
)

t.test('a sync whose worker is killed is begun again, and no page is a document twice', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  t.teardown(() => database.end())
  const pages = 6
  let holdsBack = true
  const asked: string[] = []
  const site = createServer((request, response) => {
    asked.push(request.url!)
    const isMap = request.url === '/sitemap.xml'
    const urls = Array.from({ length: pages }, (_, i) => `<url><loc>${origin}/${i}</loc></url>`)
    const map = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('')}</urlset>`
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else if (isMap) response.writeHead(200, { 'content-type': 'application/xml' }).end(map)
    // The fourth page is not answered before the kill.
    else if (request.url !== '/3' || !holdsBack)
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`This is the page ${request.url}.`)
  })
  const origin = `http://127.0.0.1:${await listen(t, site)}`

  const env = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }
  const server = await startServer(t, { databaseUrl, env })
  const { client } = await server.person()
  const { body: base } = await client.post('/ai/knowledge', { name: 'Web' })
  const { body: source } = await client.post(`/ai/knowledge/${base.id}/sources`, {
    type: 'sitemap',
    url: `${origin}/sitemap.xml`,
  })
  const worker = await spawnWorker(t, { DATABASE_URL: databaseUrl, ...env })
  await waitUntil(() => asked.includes('/3'), 'the fourth page to be asked for')
  await worker.end('SIGKILL')
  holdsBack = false
  const { rows } = await database.query(
    'SELECT status::text, leased_until > now() AS leased FROM knowledge_sources',
  )
  t.same(rows, [{ status: 'syncing', leased: true }])
  const { body: before } = await client.get(`/ai/knowledge/${base.id}/documents`)
  t.equal(before.pagination.total, 3, 'what was read is stored')

  // The worker is dead. Its lease ends now instead of in 45 s.
  await database.query('UPDATE knowledge_sources SET leased_until = now()')
  const next = await spawnWorker(t, { DATABASE_URL: databaseUrl, ...env })
  const synced = await waitUntil(async () => {
    const { body } = await client.get(`/ai/knowledge/${base.id}/sources/${source.id}`)
    return body.status === 'synced' && body
  }, 'the sync')
  t.match(synced, { error: null, last_sync: { added: 3, unchanged: 3, failed: 0 } })
  const { body: after } = await client.get(`/ai/knowledge/${base.id}/documents`)
  t.equal(after.pagination.total, pages, 'each page is one document')
  await next.end('SIGTERM')
})
