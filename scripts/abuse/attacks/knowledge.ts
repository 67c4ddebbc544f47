// Attacks of one user with several keys with texts: documents that are slow to search or to read, and chats.
import { setTimeout as sleep } from 'node:timers/promises'
import { statement } from '../../../infra/database/statements.ts'
import { made, type AttackClient } from '../client.ts'
import { attack, repeat, type Attack, type Scene } from '../attack.ts'
import type { Target } from '../target.ts'

const limit = '429 rate_limit'
const atOnceLimit = '429 max_open'
const builtinModel = 'extractive-1'

async function knowledgeBase(client: AttackClient, key: string): Promise<string> {
  return made(await client.send('POST', '/v1/ai/knowledge', { key, json: { name: 'Texts' } })).id
}

/** Adds a document. @returns its path. */
async function addDocument(client: AttackClient, key: string, base: string, json: object): Promise<string> {
  const path = `/v1/ai/knowledge/${base}/documents`
  return `${path}/${made(await client.send('POST', path, { key, json })).id}`
}

async function untilRead(client: AttackClient, key: string, path: string): Promise<void> {
  for (let i = 0; i < 600; i++) {
    const { body } = await client.send('GET', path, { key })
    if (body.status === 'ready' || body.status === 'failed') return
    await sleep(200)
  }
  throw new Error('a document is not read after two minutes')
}

async function baseWith({ client, key }: Scene, documents: object[]): Promise<string> {
  const base = await knowledgeBase(client, key())
  const paths = await Promise.all(documents.map((json) => addDocument(client, key(), base, json)))
  for (const path of paths) await untilRead(client, key(), path)
  return base
}

async function search({ client, key }: Scene, base: string, query: string): Promise<string> {
  return (await client.send('POST', `/v1/ai/knowledge/${base}/search`, { key: key(), json: { query } })).label
}

/** Rows of 280 columns; the words of the question are in the first and the last. */
const wideTable = repeat(
  9,
  (row) =>
    row === 0
      ? repeat(282, (i) => `column${i}`, ',')
      : ['harbour', repeat(280, (i) => `${(row * 7_919 + i) % 10_007} value${i}`, ','), 'lantern'].join(),
  '\n',
)

/** Lexemes that share most of their trigrams. */
const addLexemes = statement(`
  INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
  SELECT $1, 'qwertyuiop' || lpad(i::text, 6, '0'), 1 FROM generate_series(1, $2::int) i`)

/** Another tenant adds a document of one line while those of the attacker are read. */
async function readOneLine(target: Target, client: AttackClient): Promise<void> {
  const [{ keys }] = await target.people(1, 1)
  const base = await knowledgeBase(client, keys[0])
  const path = await addDocument(client, keys[0], base, {
    name: 'a.txt',
    text: 'The committee meets in May.',
  })
  await untilRead(client, keys[0], path)
}

const answered = ['200', '201', '503 UNAVAILABLE', limit, atOnceLimit]

export const knowledgeAttacks: Attack[] = [
  attack({
    name: 'chats over a wide table',
    does: 'questions whose answer is in a CSV file of 280 columns',
    atOnce: 10,
    prepare: async (scene) =>
      await baseWith(scene, [{ name: 'wide.csv', content_type: 'text/csv', text: wideTable }]),
    send: async ({ client, key }, base) =>
      (
        await client.send('POST', '/v1/ai/chat', {
          key: key(),
          json: { message: 'Which harbour has a lantern?', knowledge_base_ids: [base], model: builtinModel },
        })
      ).label,
    answers: answered,
    cpuMs: 300,
  }),
  attack({
    name: 'forms of words',
    does: 'searches for words that a text repeats in other forms',
    atOnce: 10,
    prepare: async (scene) => {
      const text = repeat(400, () => 'informed connected', ' ')
      return await baseWith(
        scene,
        Array.from({ length: 5 }, (_, i) => ({ name: `${i}.txt`, text })),
      )
    },
    send: async (scene, base) =>
      await search(
        scene,
        base,
        repeat(20, () => 'connecting informing'),
      ),
    answers: answered,
    cpuMs: 300,
  }),
  attack({
    name: 'misspelt words',
    does: 'searches for words that are like 20,000 others',
    atOnce: 16,
    async prepare(scene) {
      const base = await baseWith(scene, [{ name: 'a.txt', text: 'The harbour has a lantern.' }])
      await scene.target.database.sql(addLexemes, [base, 20_000])
      return base
    },
    send: async (scene, base) =>
      await search(
        scene,
        base,
        repeat(8, (i) => `qwertyuiop12345${'abcdefgh'[i]}`),
      ),
    answers: answered,
    cpuMs: 150,
  }),
  attack({
    name: 'long questions',
    does: 'chats of 100,000 characters without a blank',
    atOnce: 8,
    send: async ({ client, key }) =>
      (
        await client.send('POST', '/v1/ai/chat', {
          key: key(),
          json: { message: 'xq'.repeat(50_000), model: builtinModel },
        })
      ).label,
    answers: answered,
    cpuMs: 300,
  }),
  attack({
    name: 'slow answers',
    does: 'chats that a slow model answers, as many as the limit allows',
    atOnce: 64,
    async send({ client, key, over }) {
      const shot = { key: key(), json: { message: 'Hello', model: 'slow' } }
      const answer = client.send('POST', '/v1/ai/chat', shot).then(({ label }) => label)
      answer.catch(() => {})
      return await Promise.race([answer, over.then(() => 'held open')])
    },
    answers: [...answered, 'held open'],
    limit: atOnceLimit,
    cpuMs: 60,
  }),
  attack({
    name: 'many documents',
    does: 'texts of 400 kB in several knowledge bases',
    atOnce: 4,
    prepare: async ({ client, key }) =>
      await Promise.all([1, 2, 3].map(async () => await knowledgeBase(client, key()))),
    async send({ client, key }, bases, i) {
      const text = repeat(40_000, (n) => `w${(n * 7_919 + i) % 50_000}x`)
      const path = `/v1/ai/knowledge/${bases[i % bases.length]}/documents`
      return (await client.send('POST', path, { key: key(), json: { name: `${i}.txt`, text } })).label
    },
    answers: ['201', '202', '403 document_bytes', '413 max_bytes', limit, atOnceLimit],
    cpuMs: 150,
    meanwhile: { name: "another tenant's document of one line", seconds: 60, run: readOneLine },
  }),
]
