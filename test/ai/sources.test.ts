// Sources: pages and sitemaps become documents, which follow their changes; no sync reaches a private
// address, reads what robots.txt forbids, or leaves duplicates.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import * as sql from '../../generated/sql/sources.ts'
import { Robots } from '../../services/ai/sources/robots.ts'
import { leaseSeconds, syncSource, type SyncOptions } from '../../services/ai/sources/sync-source.ts'
import { releasePage } from '../../services/ai/sources/sources.ts'
import { claimSource, createSourceWorker } from '../../services/ai/sources/worker.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import type { Reply } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' } })
const { services } = server
const { database } = services

interface Answer {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
}
type Site = Record<string, Answer | string | ((request: IncomingMessage) => Answer | Promise<Answer>)>

/** A web site whose pages a test may change. */
async function openSite(t: Test, pages: Site, host = '127.0.0.1'): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const site = createServer((request, response) => {
    asked.push(request.url!)
    const page = pages[request.url!] ?? { status: 404 }
    void (async () => {
      const answer = typeof page === 'function' ? await page(request) : page
      const { status = 200, headers = {}, body = '' } = typeof answer === 'string' ? { body: answer } : answer
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body)
    })()
  })
  site.listen({ host, port: 0 })
  await once(site, 'listening')
  t.teardown(() => {
    site.close()
    site.closeAllConnections()
  })
  return { url: `http://${host}:${(site.address() as AddressInfo).port}`, asked }
}

const sitemap = (...urls: string[]): Answer => ({
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls
    .map((url) => `<url><loc>${url}</loc></url>`)
    .join('')}</urlset>`,
})

async function createBase(person: Person, project?: string): Promise<string> {
  return (await person.client.post('/ai/knowledge', { name: 'Web', project_id: project })).body.id
}

async function add(person: Person, base: string, body: object): Promise<any> {
  const reply = await person.client.post(`/ai/knowledge/${base}/sources`, body)
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}

/** Syncs all sources that are due, in this process. */
async function syncAll(
  limits: SyncOptions['limits'] = {},
  stop = new AbortController().signal,
): Promise<void> {
  for (;;) {
    const claimed = await sql.claimSource(database, { lease_seconds: leaseSeconds })
    if (claimed === undefined) return
    await syncSource({ ...services, limits, onError: (error) => t.fail(error.message) }, claimed, stop)
    if (stop.aborted) return
  }
}

async function syncAgain(person: Person, { knowledge_base_id: base, id }: any, limits = {}): Promise<any> {
  const reply = await person.client.post(`/ai/knowledge/${base}/sources/${id}/sync`)
  if (reply.status !== 200) throw new Error(reply.text)
  await syncAll(limits)
  return (await person.client.get(`/ai/knowledge/${base}/sources/${id}`)).body
}

async function documentsOf(person: Person, base: string): Promise<any[]> {
  return (await person.client.get(`/ai/knowledge/${base}/documents?limit=100&sort=name&order=asc`)).body.data
}

const paths = (documents: any[]): string[] => documents.map(({ name }) => name.replace(/^[^/]*/, ''))

t.test('the pages of a sitemap are added, replaced and removed', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = {
    '/a': '<p>Page a</p>',
    '/b': ({ headers }) =>
      headers['if-none-match'] === '"b"'
        ? { status: 304 }
        : { headers: { etag: '"b"', 'content-type': 'text/plain' }, body: 'Page b' },
    '/c': '<p>Page c</p>',
  }
  const { url } = await openSite(t, pages)
  const all = (...names: string[]): string[] => names.map((name) => `${url}/${name}`)
  pages['/sitemap.xml'] = sitemap(...all('a', 'b', 'c', 'c#twice'), 'http://192.0.2.1/elsewhere')
  const source = await add(person, base, { type: 'sitemap', url: `${url}/sitemap.xml` })
  t.match(source, { status: 'queued', sync_interval_hours: 24, last_sync: null, error: null })
  await syncAll()
  const read = async () => (await person.client.get(`/ai/knowledge/${base}/sources/${source.id}`)).body
  const counts = { added: 0, updated: 0, unchanged: 0, removed: 0, failed: 0, ignored: 0 }
  const first = await read()
  t.match(first, { status: 'synced', error: null, last_sync: { ...counts, added: 3 } })
  t.ok(Date.parse(first.next_sync_at) > Date.now() + 23 * 3_600_000)
  const [a, b, c] = await documentsOf(person, base)
  t.same(paths([a, b, c]), ['/a', '/b', '/c'])
  t.match(a, { content_type: 'text/html', metadata: { url: `${url}/a`, source: source.id } })

  await person.client.put(`/ai/knowledge/${base}/documents/${a.id}`, { metadata: { mine: 'kept' } })
  pages['/a'] = '<p>Page a has changed</p>'
  pages['/c'] = { status: 410 }
  pages['/d'] = '<p>Page d</p>'
  pages['/sitemap.xml'] = sitemap(...all('a', 'b', 'c', 'd'))
  t.match(await syncAgain(person, source), {
    last_sync: { ...counts, added: 1, updated: 1, unchanged: 1, removed: 1 },
  })
  const second = await documentsOf(person, base)
  t.same(paths(second), ['/a', '/b', '/d'])
  t.match(second[0], { id: a.id, metadata: { mine: 'kept' } }, 'a changed page keeps its document')
  t.not(second[0].sha256, a.sha256)
  t.equal((await person.client.get(`/ai/documents/${c.id}`)).status, 404)

  pages['/a'] = { status: 500 }
  pages['/sitemap.xml'] = sitemap(...all('a', 'd'))
  t.match(await syncAgain(person, source), {
    status: 'synced',
    last_sync: { ...counts, unchanged: 1, removed: 1, failed: 1 },
  })
  t.same(paths(await documentsOf(person, base)), ['/a', '/d'], 'a page that fails keeps its document')

  pages['/sitemap.xml'] = { status: 503 }
  const failed = await syncAgain(person, source)
  t.match(failed, { status: 'failed', error: { code: 'http_status' } })
  const again = await syncAgain(person, source)
  const delay = ({ next_sync_at: next }: any) => Math.round((Date.parse(next) - Date.now()) / 3_600_000)
  t.same([delay(failed), delay(again)], [48, 96], 'it backs off')
  t.equal((await documentsOf(person, base)).length, 2)

  const types = (await person.client.get('/events?limit=100')).body.data.map(({ type }: any) => type)
  for (const type of ['created', 'synced', 'failed']) t.ok(types.includes(`knowledge_source.${type}`))
  t.equal(types.filter((type: string) => type === 'document.deleted').length, 2)

  t.equal((await person.client.delete(`/ai/knowledge/${base}/sources/${source.id}`)).status, 204)
  t.same(await documentsOf(person, base), [])
  t.equal((await person.client.get(`/ai/knowledge/${base}/sources/${source.id}`)).status, 404)
})

t.test('a page that answers 304 to a request without a condition fails alone', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = { '/a': { status: 304 }, '/b': '<p>Page b</p>' }
  const { url } = await openSite(t, pages)
  pages['/sitemap.xml'] = sitemap(`${url}/a`, `${url}/b`)
  const source = await add(person, base, { type: 'sitemap', url: `${url}/sitemap.xml` })
  await syncAll()
  const { body } = await person.client.get(`/ai/knowledge/${base}/sources/${source.id}`)
  t.match(body, { last_sync: { added: 1, failed: 1 } })
})

t.test('a document that a user added is shared, and stays', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const text = '<p>The same</p>'
  const { url } = await openSite(t, {
    '/one': text,
    '/two': text,
    '/own': '<p>Own</p>',
    '/copy': '<p>Own</p>',
  })
  const documents = `/ai/knowledge/${base}/documents`
  const { body: mine } = await person.client.post(documents, { text, content_type: 'text/html' })
  const made = []
  for (const path of ['one', 'two', 'own', 'copy'])
    made.push(await add(person, base, { type: 'page', url: `${url}/${path}` }))
  await syncAll()
  t.equal((await documentsOf(person, base)).length, 2)
  const remove = async ({ id }: any) =>
    t.equal((await person.client.delete(`/ai/knowledge/${base}/sources/${id}`)).status, 204)
  await remove(made[2])
  t.equal((await documentsOf(person, base)).length, 2, 'another page has the document')
  for (const source of [made[0], made[1], made[3]]) await remove(source)
  t.same(
    (await documentsOf(person, base)).map(({ id }) => id),
    [mine.id],
  )
})

t.test('no sync reaches a private address or a page that robots.txt forbids', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const trap = await openSite(t, { '/': 'secret', '/robots.txt': '' }, '127.0.0.2')
  const pages: Site = {
    '/robots.txt': {
      headers: { 'content-type': 'text/plain' },
      body: 'User-agent: *\nDisallow: /no\nAllow: /',
    },
    '/private': { status: 302, headers: { location: `${trap.url}/` } },
    '/local': { status: 307, headers: { location: 'file:///etc/passwd' } },
    '/metadata': { status: 301, headers: { location: 'http://169.254.169.254/latest/' } },
    '/round': { status: 302, headers: { location: '/round' } },
    '/moved': { status: 308, headers: { location: '/fine' } },
    '/forbidden': { status: 302, headers: { location: '/no/page' } },
    '/fine': 'Fine',
    '/no/page': 'Not for robots',
    '/picture': { headers: { 'content-type': 'image/png' }, body: 'x' },
    '/packed': { headers: { 'content-encoding': 'gzip' }, body: 'x' },
    '/large': 'x'.repeat(2000),
    '/empty': ' ',
  }
  const { url, asked } = await openSite(t, pages)
  const errors: Record<string, string | null> = {
    private: 'address',
    local: 'address',
    metadata: 'address',
    round: 'redirects',
    moved: null,
    forbidden: 'robots',
    'no/page': 'robots',
    picture: 'unsupported',
    packed: 'unsupported',
    large: 'too_large',
    empty: 'unsupported',
    missing: 'http_status',
  }
  for (const path of Object.keys(errors)) await add(person, base, { type: 'page', url: `${url}/${path}` })
  await syncAll({ pageBytes: 1000 })
  const { body } = await person.client.get(`/ai/knowledge/${base}/sources?limit=100&order=asc`)
  t.same(
    Object.fromEntries(
      body.data.map((source: any) => [source.url.slice(url.length + 1), source.error?.code ?? null]),
    ),
    errors,
  )
  t.notOk(asked.includes('/no/page'))
  t.same(trap.asked, [], 'the private server was not asked')
  t.same(
    (await documentsOf(person, base)).map(({ metadata }) => metadata.url),
    [`${url}/moved`],
  )
  const create = (url: string): Promise<Reply> =>
    person.client.post(`/ai/knowledge/${base}/sources`, { type: 'page', url })
  for (const address of ['127.0.0.2', '10.0.0.1', '[::1]', '0x7f.2', '2130706434', '169.254.169.254'])
    t.match(
      (await create(`http://${address}/`)).body.error.details,
      { constraint: 'public_address' },
      address,
    )
  for (const other of ['ftp://example.com/', 'http://user@example.com/', 'https://example.com/#part'])
    t.equal((await create(other)).status, 400, other)
})

t.test('robots.txt that fails forbids everything, and one that is missing nothing', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = { '/page': 'A page', '/robots.txt': { status: 500 } }
  const { url } = await openSite(t, pages)
  const source = await add(person, base, { type: 'page', url: `${url}/page` })
  await syncAll()
  t.match(await syncAgain(person, source), { status: 'failed', error: { code: 'robots' } })
  pages['/robots.txt'] = { status: 404 }
  t.match(await syncAgain(person, source), { status: 'synced', error: null })
})

t.test('sitemaps have limits and are safe XML', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = {}
  const { url } = await openSite(t, pages)
  for (let i = 0; i < 5; i++) pages[`/${i}`] = `Page ${i}`
  const urls = Array.from({ length: 5 }, (_, i) => `${url}/${i}`)
  pages['/index.xml'] = `<sitemapindex><sitemap><loc>${url}/index.xml</loc></sitemap>
    <sitemap><loc>${url}/pages.xml</loc></sitemap></sitemapindex>`
  pages['/pages.xml'] = sitemap(...urls)
  const source = await add(person, base, {
    type: 'sitemap',
    url: `${url}/index.xml`,
    sync_interval_hours: null,
  })
  await syncAll({ pages: 3 })
  const read = async () => (await person.client.get(`/ai/knowledge/${base}/sources/${source.id}`)).body
  t.match(await read(), { status: 'synced', last_sync: { added: 3, ignored: 2 }, next_sync_at: null })
  for (const [body, limits, code] of [
    ['<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>', {}, 'invalid_sitemap'],
    ['<html><p>No sitemap</p></html>', {}, 'invalid_sitemap'],
    ['<a>'.repeat(1000), {}, 'invalid_sitemap'],
    [sitemap(...urls).body as string, { sitemapBytes: 50 }, 'too_large'],
    ['', {}, 'invalid_sitemap'],
  ] as const) {
    pages['/index.xml'] = body
    t.match(await syncAgain(person, source, limits), {
      status: 'failed',
      error: { code },
      next_sync_at: null,
    })
  }
  t.equal((await documentsOf(person, base)).length, 3)
  pages['/index.xml'] = sitemap(`${url}/slow`)
  pages['/slow'] = () => new Promise(() => {})
  t.match(await syncAgain(person, source, { syncMs: 300 }), { status: 'failed', error: { code: 'timeout' } })
  t.same(
    await documentsOf(person, base),
    [],
    'a slow site does not keep the pages that have left the sitemap',
  )
})

t.test('a source keeps the first pages of its sitemap, also after their order changed', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = { '/a': 'Page a', '/b': 'Page b', '/c': 'Page c', '/d': 'Page d' }
  const { url } = await openSite(t, pages)
  const limits = { pages: 2 }
  const list = (...names: string[]): Answer => sitemap(...names.map((name) => `${url}/${name}`))
  pages['/sitemap.xml'] = list('a', 'b', 'c', 'd')
  const source = await add(person, base, { type: 'sitemap', url: `${url}/sitemap.xml` })
  await syncAll(limits)
  t.same(paths(await documentsOf(person, base)), ['/a', '/b'])
  pages['/sitemap.xml'] = list('d', 'b', 'c', 'a')
  t.match(await syncAgain(person, source, limits), {
    last_sync: { added: 1, unchanged: 1, removed: 1, ignored: 2 },
  })
  t.same(paths(await documentsOf(person, base)), ['/b', '/d'])
  // Also after a sync that stored more pages.
  pages['/sitemap.xml'] = list('a', 'b', 'c', 'd')
  await syncAgain(person, source)
  t.equal((await documentsOf(person, base)).length, 4)
  pages['/c'] = 'Page c has changed'
  pages['/sitemap.xml'] = list('c', 'd', 'a', 'b')
  t.match(await syncAgain(person, source, limits), { last_sync: { updated: 1, unchanged: 1, removed: 2 } })
  t.same(paths(await documentsOf(person, base)), ['/c', '/d'])
  await person.client.delete(`/ai/knowledge/${base}/sources/${source.id}`)
  t.same(await documentsOf(person, base), [])
})

t.test('at the limit of documents, only new pages fail', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = { '/a': 'Page a', '/b': 'Page b', '/c': 'Page c', '/d': 'Page d' }
  const { url } = await openSite(t, pages)
  const list = (...names: string[]): Answer => sitemap(...names.map((name) => `${url}/${name}`))
  pages['/sitemap.xml'] = list('a', 'b')
  const source = await add(person, base, { type: 'sitemap', url: `${url}/sitemap.xml` })
  const { quotaLimit } = database.prisma
  const where = { quota: 'documents' }
  const { value } = await quotaLimit.findUniqueOrThrow({ where })
  t.teardown(() => quotaLimit.update({ where, data: { value } }))
  await quotaLimit.update({ where, data: { value: 2 } })
  await syncAll()
  pages['/a'] = 'Page a has changed'
  pages['/sitemap.xml'] = list('a', 'c', 'd')
  t.match(await syncAgain(person, source), {
    status: 'synced',
    error: null,
    last_sync: { added: 1, updated: 1, unchanged: 0, removed: 1, failed: 1 },
  })
  t.same(paths(await documentsOf(person, base)), ['/a', '/c'])
  const page = await add(person, base, { type: 'page', url: `${url}/d` })
  t.match(await syncAgain(person, page), {
    status: 'failed',
    error: { code: 'quota' },
    last_sync: { failed: 1 },
  })
})

t.test('a sync that is killed is begun again without duplicates', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const pages: Site = { '/1': 'One', '/2': 'Two' }
  const { url } = await openSite(t, pages)
  pages['/sitemap.xml'] = sitemap(`${url}/1`, `${url}/2`)
  let hang = true
  const hanging = Promise.withResolvers<void>()
  pages['/2'] = async () => {
    if (!hang) return { body: 'Two' }
    hanging.resolve()
    return await new Promise<Answer>(() => {})
  }
  const source = await add(person, base, { type: 'sitemap', url: `${url}/sitemap.xml` })
  const stop = new AbortController()
  const first = syncAll({}, stop.signal)
  await hanging.promise
  const other = await add(person, base, { type: 'page', url: `${url}/1` })
  t.equal(await sql.claimSource(database, { lease_seconds: 1 }), undefined, 'one sync of the owner at once')
  const path = `/ai/knowledge/${base}/sources/${source.id}`
  t.equal((await person.client.get(path)).body.status, 'syncing')
  t.equal((await person.client.post(`${path}/sync`)).body.status, 'syncing')
  t.equal((await documentsOf(person, base)).length, 1)
  stop.abort()
  await first
  t.equal((await person.client.get(path)).body.status, 'queued')
  hang = false
  await syncAll()
  t.match((await person.client.get(path)).body, { status: 'synced', last_sync: { added: 1, unchanged: 1 } })
  t.same(
    (await documentsOf(person, base)).map(({ status }) => status),
    ['queued', 'queued'],
  )
  t.equal((await person.client.delete(`/ai/knowledge/${base}/sources/${other.id}`)).status, 204)
  t.equal((await documentsOf(person, base)).length, 2)

  // The lease of a worker that died ends, and its late changes are refused.
  await database.prisma.knowledgeSource.update({ where: { id: source.id }, data: { nextSyncAt: new Date() } })
  const dead = (await sql.claimSource(database, { lease_seconds: -1 }))!
  const alive = (await sql.claimSource(database, { lease_seconds: 60 }))!
  t.same([alive.id, alive.run], [dead.id, dead.run + 1])
  pages['/1'] = 'One has changed'
  await syncSource(
    { ...services, onError: (error) => t.fail(error.message) },
    dead,
    new AbortController().signal,
  )
  t.match((await person.client.get(path)).body, { status: 'syncing' })
  await syncSource(
    { ...services, onError: (error) => t.fail(error.message) },
    alive,
    new AbortController().signal,
  )
  t.match((await person.client.get(path)).body, { last_sync: { updated: 1, unchanged: 1 } })
})

/** Whether `promise` settles before a transaction waits for a lock. */
async function settlesAtOnce(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  void promise.catch(() => {}).finally(() => (settled = true))
  await waitUntil(async () => {
    const [{ waiting }] = await database.prisma.$queryRaw<Array<{ waiting: number }>>`
      SELECT count(*)::int AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return settled || waiting > 0
  }, 'the end or a lock')
  return settled
}

t.test('two workers do not sync two sources of an owner at once', async (t) => {
  const person = await server.person()
  const { id: project } = (await person.client.post('/projects', { name: 'Web' })).body
  for (const base of [await createBase(person), await createBase(person, project)])
    await add(person, base, { type: 'page', url: 'https://example.com/claimed' })
  let other: Promise<sql.ClaimSourceRow | undefined> | undefined
  const claimed = await database.transaction(async (tx) => {
    const source = await claimSource(tx)
    other = claimSource(database)
    t.notOk(await settlesAtOnce(other))
    return source
  })
  t.ok(claimed)
  t.equal(await other, undefined)
  await database.prisma.knowledgeSource.deleteMany({ where: { url: 'https://example.com/claimed' } })
})

t.test('owners take turns, however many sources and projects they have', async (t) => {
  const one = await server.person()
  const { id: project } = (await one.client.post('/projects', { name: 'Web' })).body
  const other = await server.person()
  const { knowledgeSource } = database.prisma
  const names = new Map<string, string>()
  // In the order in which they are due.
  for (const [i, [name, person, base]] of [
    ['first', one, await createBase(one)] as const,
    ['second', one, await createBase(one, project)] as const,
    ['other', other, await createBase(other)] as const,
  ].entries()) {
    const { id } = await add(person, base, { type: 'page', url: 'https://example.com/turns' })
    names.set(id, name)
    await knowledgeSource.update({ where: { id }, data: { nextSyncAt: new Date(i) } })
  }
  const claim = async (): Promise<string | undefined> => names.get((await claimSource(database))?.id ?? '')
  const end = async (data: { nextSyncAt?: null } = {}): Promise<unknown> =>
    await knowledgeSource.updateMany({
      where: { leasedUntil: { not: null } },
      data: { leasedUntil: null, ...data },
    })
  t.same([await claim(), await claim(), await claim()], ['first', 'other', undefined], 'one of each owner')
  await end()
  t.equal(await claim(), 'first', 'the one whose turn is the longest ago')
  await end({ nextSyncAt: null })
  t.equal(await claim(), 'other', 'not the source that is due for the longest time')
  await end()
  t.equal(await claim(), 'second')
  await end()
  await knowledgeSource.deleteMany({ where: { url: 'https://example.com/turns' } })
})

t.test('a document of two sources that are deleted at once is deleted', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const { url } = await openSite(t, { '/one': 'The same', '/two': 'The same' })
  const sources = []
  for (const path of ['one', 'two'])
    sources.push(await add(person, base, { type: 'page', url: `${url}/${path}` }))
  await syncAll()
  t.equal((await documentsOf(person, base)).length, 1)
  // The first deletion has deleted its page and waits before its commit.
  const [one, two] = sources
  let second: Promise<Reply> | undefined
  await database.transaction(async (tx) => {
    await sql.lockSource(tx, { knowledge_base_id: base, source_id: one.id, user_id: person.id })
    await releasePage(tx, services.events, { source_id: one.id, url: `${url}/one` })
    second = person.client.delete(`/ai/knowledge/${base}/sources/${two.id}`)
    t.notOk(await settlesAtOnce(second))
  })
  t.equal((await second)!.status, 204)
  t.same(await documentsOf(person, base), [])
})

t.test('a document that a sync finds while another source is deleted stays', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const { url } = await openSite(t, { '/one': 'The same', '/two': 'The same' })
  const one = await add(person, base, { type: 'page', url: `${url}/one` })
  await syncAll()
  const [document] = await documentsOf(person, base)
  const two = await add(person, base, { type: 'page', url: `${url}/two` })
  const { run } = (await claimSource(database))!
  // The sync has stored its page and waits before its commit.
  let deletion: Promise<Reply> | undefined
  await database.transaction(async (tx) => {
    await sql.holdSync(tx, { id: two.id, run })
    const page = { source_id: two.id, url: `${url}/two`, document_id: document.id }
    await sql.upsertPage(tx, { ...page, etag: null, last_modified: null, created: false })
    deletion = person.client.delete(`/ai/knowledge/${base}/sources/${one.id}`)
    t.notOk(await settlesAtOnce(deletion))
  })
  t.equal((await deletion)!.status, 204)
  t.same(
    (await documentsOf(person, base)).map(({ id }) => id),
    [document.id],
  )
  await person.client.delete(`/ai/knowledge/${base}/sources/${two.id}`)
  t.same(await documentsOf(person, base), [], 'its last source deletes it')
})

t.test('a knowledge base has at most 20 sources, each URL once, even at the same time', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const send = (i: number): Promise<Reply> =>
    person.client.post(`/ai/knowledge/${base}/sources`, { type: 'page', url: `https://example.com/${i}` })
  const statuses = async (...numbers: number[]): Promise<number[]> =>
    (await Promise.all(numbers.map(send))).map(({ status }) => status).sort()
  t.same(await statuses(1, 1, 1), [201, 409, 409])
  for (let i = 2; i < 20; i++) t.equal((await send(i)).status, 201)
  t.same(await statuses(20, 21, 22), [201, 403, 403])
  t.match((await send(23)).body.error, {
    code: 'FORBIDDEN',
    details: { constraint: 'sources', limit: { limit: 20, used: 20 } },
  })
  await database.prisma.knowledgeSource.deleteMany({ where: { knowledgeBaseId: base } })
})

t.test('viewers list sources, and editors change them', async (t) => {
  const owner = await server.person()
  const { id: project } = (await owner.client.post('/projects', { name: 'Web' })).body
  const base = await createBase(owner, project)
  const source = await add(owner, base, { type: 'page', url: 'https://example.com/roles' })
  await database.prisma.knowledgeSource.update({ where: { id: source.id }, data: { nextSyncAt: null } })
  const path = `/ai/knowledge/${base}/sources`
  const body = { type: 'page', url: 'https://example.com/other' }
  for (const [role, allowed] of [
    [null, false],
    ['viewer', false],
    ['editor', true],
  ] as const) {
    const person = await server.person()
    if (role !== null) await createMember(server, project, person.id, role)
    const reads = role === null ? 403 : 200
    t.equal((await person.client.get(path)).status, reads)
    t.equal((await person.client.get(`${path}/${source.id}`)).status, reads)
    t.equal((await person.client.post(path, body)).status, allowed ? 201 : 403)
    t.equal((await person.client.post(`${path}/${source.id}/sync`)).status, allowed ? 200 : 403)
    t.equal((await person.client.delete(`${path}/${source.id}`)).status, allowed ? 204 : 403)
  }
  await database.prisma.knowledgeSource.deleteMany({ where: { knowledgeBaseId: base } })
})

t.test('the worker syncs what is due', async (t) => {
  const person = await server.person()
  const base = await createBase(person)
  const { url } = await openSite(t, { '/page': 'A page' })
  const worker = createSourceWorker({ ...services, interval: 20, onError: (error) => t.fail(error.message) })
  worker.start()
  t.teardown(() => worker.stop())
  const { id } = await add(person, base, { type: 'page', url: `${url}/page` })
  await waitUntil(
    async () => (await person.client.get(`/ai/knowledge/${base}/sources/${id}`)).body.status === 'synced',
    'the source to be synced',
  )
})

t.test('the longest rule of robots.txt decides, and matching takes no time', (t) => {
  const robots = new Robots(
    `\ufeffuser-agent: other
Disallow: /
User-Agent: Platform-API-Sources/2 # ours
user-agent: third
crawl-delay: 0.5
disallow: /a
allow: /a/b
disallow: /*.pdf$
disallow: /x*y*z
Disallow: /caf%c3%a9
Disallow: /same
Allow: /same
Disallow:
nonsense
`,
    'Platform-API-Sources',
  )
  t.equal(robots.crawlDelay, 0.5)
  for (const [path, allowed] of [
    ['/', true],
    ['/a', false],
    ['/a/b/c', true],
    ['/file.pdf', false],
    ['/file.pdf?x', true],
    ['/xaayaaz/', false],
    ['/xaaz', true],
    ['/café', false],
    ['/%63afé', false],
    ['/same', true],
    ['/q?/a', true],
  ] as const)
    t.equal(robots.isAllowed(`http://example.com${path}`), allowed, path)
  t.equal(new Robots('Disallow: /', 'x').isAllowed('http://example.com/'), true, 'a rule of no group')
  t.equal(new Robots('User-agent: *\nDisallow: /*$', 'x').isAllowed('http://example.com/a'), false)
  for (const line of [`/${'*a'.repeat(400)}b`, `/*${'a'.repeat(30)}b`, `/${'*'.repeat(800)}b$`]) {
    const text = `User-agent: *\n${`Disallow: ${line}\n`.repeat(Math.floor((128 * 1024) / line.length))}`
    const hostile = new Robots(text, 'x')
    const before = process.cpuUsage()
    t.ok(hostile.isAllowed(`http://example.com/${'a'.repeat(980)}`))
    const { user } = process.cpuUsage(before)
    t.ok(user < 500_000, `${user} µs`)
  }
  t.end()
})
