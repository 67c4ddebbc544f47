// Vector search with pgvector. The embedded PostgreSQL lacks the extension, so PGlite (PostgreSQL 18 as
// WebAssembly) provides it.
import { PGlite } from '@electric-sql/pglite'
import { btree_gin as btreeGin } from '@electric-sql/pglite/contrib/btree_gin'
import { pg_trgm as trigrams } from '@electric-sql/pglite/contrib/pg_trgm'
import { unaccent } from '@electric-sql/pglite/contrib/unaccent'
import { vector } from '@electric-sql/pglite/vector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import t from 'tap'
import { searchKnowledgeBases } from '../../services/ai/search/search.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { applyMigrations } from '../../infra/postgres/migrations.ts'
import { addKnowledgeBase, addDocument, addUser } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const postgres = await PGlite.create({
  extensions: { vector, unaccent, pg_trgm: trigrams, btree_gin: btreeGin },
})
const server = new PGLiteSocketServer({ db: postgres, host: '127.0.0.1', port: 0 })
await server.start()
t.teardown(async () => {
  await server.stop()
  await postgres.close()
})

const url = `postgres://postgres@${server.getServerConn()}/postgres`
await applyMigrations(url)
// PGlite has only one session.
const db = openDatabase({ url, poolSize: 1 })
t.teardown(() => db.close())

const extension = statement<{ extname: string }>("SELECT extname FROM pg_extension WHERE extname = 'vector'")
const dropExtension = statement('DROP EXTENSION vector')

t.test('pgvector and plain SQL find the same passages with the same scores', async (t) => {
  let seed = 11
  const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5
  const anyVector = (): number[] => Array.from({ length: 32 }, random)
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  for (let i = 0; i < 60; i++)
    await addDocument(db, base, `What is written in number ${i}, and no other.`, { embed: anyVector })
  await addDocument(db, base, 'A passage without a vector.')
  await addDocument(db, base, 'A passage of another model.', { embed: () => [1, 2, 3] })

  const questions = Array.from({ length: 8 }, (_, i) => ({ query: `number ${i}`, embedding: anyVector() }))
  const ask = async (): Promise<Array<Array<[string, number]>>> => {
    const answers = []
    for (const question of questions) {
      const search = { knowledgeBaseIds: [base], limit: 20, ...question }
      const { passages: found } = await searchKnowledgeBases(db, ada, search)
      answers.push(found.map(({ text, score }): [string, number] => [text, Math.round(score * 1e4) / 1e4]))
    }
    return answers
  }

  t.same(await db.sql(extension, []), [{ extname: 'vector' }], 'the migrations create the extension')
  const withPgvector = await ask()
  await db.sql(dropExtension, [])
  const plain = await ask()
  t.same(withPgvector, plain)
  t.equal(new Set(plain.map((found) => found[0][0])).size > 1, true, 'the questions find different passages')
  t.notOk(
    plain.flat().some(([text]) => text === 'A passage of another model.'),
    'vectors of another length are not compared',
  )
})
