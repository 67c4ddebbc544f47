// `npm run migrate -- --distribute`. What needs Citus runs when `CITUS_URL` names a coordinator with workers;
// then all other tests run there, too.
import t, { type Test } from 'tap'
import { distribute } from '../../infra/postgres/distribute.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { joinNodes, nodesOf } from '../../scripts/test/citus.ts'
import { callTree, programOf } from '../../scripts/sql/call-tree.ts'
import { filesOf, hotOperations, readStatements, routesOf } from '../../scripts/sql/routes.ts'
import { searchKnowledgeBases } from '../../services/ai/search/search.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { addDocument, addKnowledgeBase, addUser } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/database/database.ts'
import { backUp, contentsOf, newFolder, query, restore } from '../support/server/backups.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import type { Client } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { newDatabase } from '../support/server/store-servers.ts'

const citus = process.env['CITUS_URL']

if (citus === undefined)
  t.test('a database without Citus is refused, and stays as it is', async (t) => {
    const { url } = await createTestDatabase(t)
    await t.rejects(
      distribute(url, () => {}),
      { message: /The database has no Citus: install it/ },
    )
    const index = "SELECT to_regclass('document_texts_document_id_key') IS NOT NULL AS kept"
    t.same(await query(url, index), [{ kept: true }])
  })
else {
  /** An empty database on all nodes. */
  const emptyOnNodes = async (t: Parameters<typeof createEmptyDatabase>[0]): Promise<string> => {
    const name = new URL(await createEmptyDatabase(t)).pathname.slice(1)
    return await joinNodes(await nodesOf(citus), name)
  }

  t.test('a filled database is distributed with its rows, and finds them', async (t) => {
    const url = await emptyOnNodes(t)
    await prepareDatabase(url)
    const db = openDatabase({ url, poolSize: 2 })
    t.teardown(() => db.close())
    const reader = await addUser(db)
    const bases: string[] = []
    for (let i = 0; i < 4; i++) {
      bases.push(await addKnowledgeBase(db, reader))
      await addDocument(db, bases[i], `The lantern of harbour ${i} burns oil.`)
    }
    const before = await contentsOf(url)
    const messages: string[] = []
    await distribute(url, (message) => messages.push(message))
    t.ok(messages.includes('chunks: distributed by knowledge_base_id'), messages.join())
    t.same(await contentsOf(url), before)
    const nodes = await query(
      url,
      `SELECT count(DISTINCT nodename || nodeport)::int AS n FROM citus_shards
       WHERE table_name = 'chunks'::regclass`,
    )
    t.same(nodes, [{ n: 2 }])
    const search = { knowledgeBaseIds: bases, query: 'Which lantern burns oil?', limit: 8 }
    t.equal((await searchKnowledgeBases(db, reader, search)).passages.length, 4)
    const again: string[] = []
    await distribute(url, (message) => again.push(message))
    t.ok(again.includes('chunks: is distributed by knowledge_base_id'), again.join())
  })

  t.test('a backup of a distributed database restores into a plain one, and back', async (t) => {
    const store = { STORAGE_DIR: newFolder(t) }
    const url = await newDatabase(t, 'db_distributed')
    const db = openDatabase({ url, poolSize: 2 })
    const base = await addKnowledgeBase(db, await addUser(db))
    await addDocument(db, base, 'The lantern of the harbour burns oil.')
    await db.close()
    const contents = await contentsOf(url)
    const { folder } = await backUp({ DATABASE_URL: url, ...store }, newFolder(t))
    const plain = { DATABASE_URL: await createEmptyDatabase(t), STORAGE_DIR: newFolder(t) }
    await restore(folder, plain)
    t.same(await contentsOf(plain.DATABASE_URL), contents)
    const second = await backUp(plain, newFolder(t))
    const back = { DATABASE_URL: await emptyOnNodes(t), STORAGE_DIR: newFolder(t) }
    await restore(second.folder, back)
    await distribute(back.DATABASE_URL, () => {})
    t.same(await contentsOf(back.DATABASE_URL), contents)
  })

  /** A server with a knowledge base on each worker, of another person each; each base has a document. */
  const onEachWorker = async (t: Test) => {
    // A document whose worker is lost is tried again for a minute.
    const server = await startServer(t, { env: { DOCUMENT_CONCURRENCY: '2' } })
    startDocumentWorker(t, server, () => {})
    const baseOf = new Map<string, string>()
    const ownerOf = new Map<string, Person>()
    while (baseOf.size < 2) {
      const person = await server.person()
      const { id } = (await person.client.post('/ai/knowledge', { name: 'Shelf' })).body
      const [{ node }] = await query(
        server.databaseUrl,
        `SELECT nodename || ':' || nodeport AS node FROM citus_shards
         WHERE shardid = get_shard_id_for_distribution_column('chunks', $1::text)`,
        [id],
      )
      if (!baseOf.has(node)) {
        baseOf.set(node, id)
        ownerOf.set(id, person)
      }
    }
    const clientOf = (base: string): Client => ownerOf.get(base)!.client
    const add = async (base: string, name: string): Promise<number> =>
      (await clientOf(base).post(`/ai/knowledge/${base}/documents`, { name, text: `The ${name} burns oil.` }))
        .status
    const find = async (base: string): Promise<{ status: number; found: number }> => {
      const answer = await clientOf(base).post(`/ai/knowledge/${base}/search`, { query: 'What burns oil?' })
      return { status: answer.status, found: answer.body.data?.length ?? 0 }
    }
    for (const base of baseOf.values()) {
      t.equal(await add(base, 'lantern'), 201)
      await waitUntil(async () => (await find(base)).found === 1, 'the document')
    }
    return { server, baseOf, add, find }
  }

  t.test('without a worker only its knowledge bases answer 503, and nothing is lost', async (t) => {
    const { server, baseOf, add, find } = await onEachWorker(t)
    const [[lost, lostBase], [, otherBase]] = [...baseOf]
    const worker = (await nodesOf(citus)).find((node) => node.includes(lost))!
    const { pathname } = new URL(server.databaseUrl)
    const name = pathname.slice(1)
    await query(worker, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    await query(worker, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
    t.equal((await find(lostBase)).status, 503)
    t.same(await find(otherBase), { status: 200, found: 1 })
    // Documents and events are on the coordinator: what is added waits for the worker.
    t.equal(await add(lostBase, 'beacon'), 201)
    t.equal(await add(otherBase, 'beacon'), 201)
    await waitUntil(async () => (await find(otherBase)).found === 2, 'the document of the other base')
    await query(worker, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    await waitUntil(async () => (await find(lostBase)).found === 2, 'both documents')
  })

  t.test('a shard moves to the other worker while it is used, and no request fails', async (t) => {
    const { server, baseOf, add, find } = await onEachWorker(t)
    const [[from, base], [to]] = [...baseOf]
    let moving = true
    const statuses: number[] = []
    const use = async (): Promise<void> => {
      for (let i = 0; moving; i++) {
        statuses.push((await find(base)).status)
        if (i % 5 === 0) statuses.push(await add(base, `lamp ${i}`))
      }
    }
    const users = [use(), use()]
    const node = (address: string): [string, number] => {
      const [host, port] = address.split(':')
      return [host, Number(port)]
    }
    await query(
      server.databaseUrl,
      `SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('chunks', $1::text),
        $2, $3, $4, $5, 'force_logical')`,
      [base, ...node(from), ...node(to)],
    )
    moving = false
    await Promise.all(users)
    t.same([...new Set(statuses)].sort(), [200, 201])
    t.ok(statuses.length > 20, `${statuses.length} requests`)
    t.ok((await find(base)).found > 1)
  })

  t.test('no statement of the hottest operations goes to all shards or is refused', async (t) => {
    const { url } = await createTestDatabase(t)
    const root = process.cwd()
    const program = programOf(root)
    const files = new Set(hotOperations().flatMap((name) => filesOf(callTree(root, name, program)!)))
    const routed = await routesOf(url, await readStatements(root), [...files])
    const others = routed.filter(({ route }) => route !== 'local' && route !== 'one shard')
    // The extension pgvector is not installed there.
    t.same(
      others.map(({ file }) => file),
      ['prisma/sql/search/rank-by-vector-with-pgvector.sql'],
    )
    t.ok(routed.filter(({ route }) => route === 'one shard').length >= 8)
  })
}
