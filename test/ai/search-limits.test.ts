// A knowledge base that was made to slow the search for misspelled words down: its searches still answer, and
// the requests of others never wait for them.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { DATABASE_POOL_SIZE: '4' } })
const { database } = server.services
startDocumentWorker(t, server)

/** Lexemes that have all their trigrams in common but a few. */
const addSimilarLexemes = statement(`
  INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
  SELECT $1, 'qwertyuiop' || lpad(i::text, 6, '0'), 1 FROM generate_series($2::int, $3::int) i`)

async function addLexemes(base: string, count: number): Promise<void> {
  for (let from = 1; from <= count; from += 20_000)
    await database.sql(addSimilarLexemes, [base, from, Math.min(count, from + 19_999)])
}

async function knowledgeBase({ client }: Person, text: string): Promise<string> {
  const { body: base } = await client.post('/ai/knowledge', { name: 'Words' })
  const { body: document } = await client.post(`/ai/knowledge/${base.id}/documents`, { name: 'a.txt', text })
  await waitUntil(
    async () =>
      (await client.get(`/ai/knowledge/${base.id}/documents/${document.id}`)).body.status === 'ready',
  )
  return base.id
}

const misspelled = Array.from({ length: 8 }, (_, i) => `qwertyuiop12345${'abcdefgh'[i]}`).join(' ')

t.test(
  'searches for misspelled words do not delay the requests of others',
  { timeout: 120_000 },
  async (t) => {
    const [attacker, victim] = [await server.person(), await server.person()]
    const base = await knowledgeBase(attacker, 'The harbour has a lantern.')
    const other = await knowledgeBase(victim, 'The committee meets in December.')
    await addLexemes(base, 3_000)
    await database.sql(statement('ANALYZE lexemes'), [])
    const search = async (): Promise<number> =>
      (await attacker.client.post(`/ai/knowledge/${base}/search`, { query: `harbour ${misspelled}` })).status
    const alone = await attacker.client.post(`/ai/knowledge/${base}/search`, {
      query: `harbour ${misspelled}`,
    })
    t.equal(alone.status, 200, 'the search answers, if need be without the misspelled words')
    t.match(alone.body.data, [{ text: 'The harbour has a lantern.' }])

    let isDone = false
    const searches = Promise.all(Array.from({ length: 12 }, search)).finally(() => {
      isDone = true
    })
    let found = 0
    while (!isDone) {
      const startedAt = performance.now()
      t.equal((await victim.client.get('/user/profile')).status, 200)
      t.ok(performance.now() - startedAt < 3_000, 'another request is answered at once')
      const reply = await victim.client.post(`/ai/knowledge/${other}/search`, { query: 'comittee' })
      t.equal(reply.status, 200)
      t.match(reply.body.data, [{ text: 'The committee meets in December.' }])
      found++
    }
    t.ok(found > 0)
    const statuses = await searches
    t.ok(
      statuses.every((status) => status === 200 || status === 503),
      statuses.join(),
    )
  },
)

t.test('a search uses at most 2,000 candidates for a misspelled word', async (t) => {
  const person = await server.person()
  const base = await knowledgeBase(person, 'The harbour has a lantern.')
  await addLexemes(base, 3_000)
  const definition = statement<{ text: string }>(
    `SELECT pg_get_functiondef('similar_lexemes(text,text[],int)'::regprocedure) AS text`,
  )
  const [{ text }] = await database.sql(definition, [])
  t.match(text, /LIMIT 2000/)
  const similar = statement<{ lexeme: string }>(
    `SELECT lexeme FROM similar_lexemes($1, ARRAY['qwertyuiop000001'], 3)`,
  )
  t.equal((await database.sql(similar, [base])).length, 3)
})
