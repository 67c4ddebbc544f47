// Retrieval: access, ranking, filters, languages and the index counts.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { replaceChunks } from '../../services/ai/knowledge/chunk-index.ts'
import {
  searchKnowledgeBases,
  type PassageSearch,
  type RetrievedPassage,
} from '../../services/ai/search/search.ts'
import { requireFilters } from '../../services/ai/search/filters.ts'
import { openDatabase } from '../../infra/database/database.ts'
import type { Principal } from '../../services/users/authentication.ts'
import { createTestDatabase } from '../support/database/database.ts'
import {
  addKnowledgeBase,
  addDocument,
  addMember,
  addUser,
  addProject,
  toChunks,
  limitedToProjects,
  countMismatches,
} from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const { url } = await createTestDatabase(t)
const db = openDatabase({ url, poolSize: 8 })
t.teardown(() => db.close())

async function find(
  principal: Principal,
  bases: string | string[],
  query: string,
  more: Partial<PassageSearch> = {},
): Promise<RetrievedPassage[]> {
  const search = { knowledgeBaseIds: [bases].flat(), query, limit: 10, ...more }
  return (await searchKnowledgeBases(db, principal, search)).passages
}

const texts = (passages: RetrievedPassage[]): string[] => passages.map(({ text }) => text)

t.test('a passage has its document, heading and offsets', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  const text =
    '# Events\n\n## Retention 🕰️\n\nThey are kept for thirty days.\n\n' +
    '## Order\n\nThey are numbered as they are committed.'
  const document = await addDocument(db, base, text, { name: 'events.md', metadata: { edition: '1' } })
  const [first] = await find(ada, base, 'how long is something kept?')
  t.match(first, {
    document_id: document,
    file_id: null,
    name: 'events.md',
    heading: 'Events › Retention 🕰️',
    page: null,
    metadata: { edition: '1' },
    revision: 1,
  })
  t.equal(first.text, text.slice(first.start_index, first.end_index))
  t.match(first.text, /thirty days/)
  t.ok(first.score > 0 && first.score <= 1)
  t.same(await find(ada, base, 'submarine'), [], 'no match')
  t.same(await find(ada, await addKnowledgeBase(db, ada), 'events'), [], 'an empty knowledge base')
})

t.test('two tenants with the same words find only their own passages', async (t) => {
  const [ada, bob] = [await addUser(db), await addUser(db)]
  const [hers, his] = [await addKnowledgeBase(db, ada), await addKnowledgeBase(db, bob)]
  await addDocument(db, hers, 'The vault opens with the code of Ada.')
  await addDocument(db, his, 'The vault opens with the code of Bob. The secret word is zanzibar.')
  t.same(texts(await find(ada, [hers, his], 'vault code')), ['The vault opens with the code of Ada.'])
  t.same(await find(ada, his, 'vault code'), [])
  t.same(await find(ada, [hers, his], 'zanzibar'), [])
  t.same(
    await find(ada, [hers, his], 'zanzibra'),
    [],
    'a misspelled word does not reveal the words of the other tenant',
  )
  t.same(
    await find(ada, [hers, his], 'vault', {
      filters: {
        document_ids: (await db.prisma.document.findMany({ where: { knowledgeBaseId: his } })).map(
          ({ id }) => id,
        ),
      },
    }),
    [],
  )
})

t.test('in a project only current members find passages', async (t) => {
  const [ada, bob] = [await addUser(db), await addUser(db)]
  const project = await addProject(db, ada)
  const base = await addKnowledgeBase(db, ada, project)
  await addDocument(db, base, 'The vault is in the cellar.')
  t.equal((await find(ada, base, 'vault')).length, 1)
  t.same(await find(bob, base, 'vault'), [], 'not a member')
  await addMember(db, project, bob)
  t.equal((await find(bob, base, 'vault')).length, 1, 'a viewer')
  await db.prisma.project.update({
    where: { id: project },
    data: { status: 'archived', archivedAt: new Date() },
  })
  t.equal((await find(bob, base, 'vault')).length, 1, 'in an archived project')
  await db.prisma.member.deleteMany({ where: { projectId: project, userId: bob.userId } })
  t.same(await find(bob, base, 'vault'), [], 'removed from the project')
  await db.prisma.project.update({
    where: { id: project },
    data: { status: 'deleted', deletedAt: new Date() },
  })
  t.same(await find(ada, base, 'vault'), [], 'in a deleted project')
})

t.test('a removed member finds nothing in the knowledge base that they created', async (t) => {
  const [ada, bob] = [await addUser(db), await addUser(db)]
  const project = await addProject(db, ada)
  await addMember(db, project, bob, 'editor')
  const base = await addKnowledgeBase(db, bob, project)
  await addDocument(db, base, 'The vault is in the cellar.')
  t.equal((await find(bob, base, 'vault')).length, 1)
  await db.prisma.member.deleteMany({ where: { projectId: project, userId: bob.userId } })
  t.same(await find(bob, base, 'vault'), [])
})

t.test('an API key for some projects finds only passages of these', async (t) => {
  const ada = await addUser(db)
  const [one, two] = [await addProject(db, ada), await addProject(db, ada)]
  const bases = [
    await addKnowledgeBase(db, ada),
    await addKnowledgeBase(db, ada, one),
    await addKnowledgeBase(db, ada, two),
  ]
  for (const [i, base] of bases.entries()) await addDocument(db, base, `The vault number ${i}.`)
  t.same(texts(await find(ada, bases, 'vault')).sort(), [
    'The vault number 0.',
    'The vault number 1.',
    'The vault number 2.',
  ])
  t.same(texts(await find(limitedToProjects(ada, one), bases, 'vault')), ['The vault number 1.'])
  t.same(await find(limitedToProjects(ada), bases, 'vault'), [])
})

t.test('a document is found once it was parsed, unless parsing failed', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  const id = await addDocument(db, base, 'The vault is in the cellar.')
  const found = async (status: 'queued' | 'processing' | 'ready' | 'failed'): Promise<number> => {
    await db.prisma.document.update({ where: { id }, data: { status } })
    return (await find(ada, base, 'vault')).length
  }
  t.same(
    [await found('queued'), await found('processing'), await found('ready'), await found('failed')],
    [1, 1, 1, 0],
  )
  await db.prisma.document.delete({ where: { id } })
  t.same(await find(ada, base, 'vault'), [])
})

t.test('filters select documents before the ranking', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  for (let i = 0; i < 30; i++)
    await addDocument(db, base, 'vault vault vault', { metadata: { shelf: 'other' } })
  const wanted = await addDocument(
    db,
    base,
    'Somewhere among a lot of other words that are of no interest there is a vault.',
    { metadata: { shelf: 'mine', year: '1900' } },
  )
  const only = async (filters: PassageSearch['filters']): Promise<string[]> =>
    (await find(ada, base, 'vault', { filters, limit: 50 })).map(({ document_id: id }) => id)
  t.same(await only({ document_ids: [wanted] }), [wanted])
  t.same(await only({ metadata: { shelf: 'mine' } }), [wanted])
  t.same(await only({ metadata: { shelf: 'mine', year: '1901' } }), [])
  t.equal((await only({ metadata: {} })).length, 31)
})

t.test('filters have ranges, lists and groups', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  const values = ['9', '10', '-2.5', 'ten', '2026-01-05T10:00:00Z', '', '1'.repeat(512), 'é', '"', '1\n']
  const ids = new Map<string, string>()
  for (const value of values)
    ids.set(await addDocument(db, base, `vault ${ids.size}`, { metadata: { 'a "b" $.c': value } }), value)
  const bare = await addDocument(db, base, 'vault without')
  const selected = async (filters: PassageSearch['filters']): Promise<string[]> =>
    (await find(ada, base, 'vault', { filters, limit: 50 }))
      .map(({ document_id: id }) => ids.get(id) ?? 'none')
      .sort()
  const where = async (condition: object): Promise<string[]> =>
    await selected({ metadata: { 'a "b" $.c': condition } })
  const all = [...values, 'none'].sort()
  const without = (...some: string[]): string[] => all.filter((value) => !some.includes(value))

  t.same(await where({ gt: 9 }), ['10'], 'as numbers; others do not match')
  t.same(await where({ gte: 9, lt: 10 }), ['9'])
  t.same(await where({ lte: 9 }), ['-2.5', '9'])
  t.same(await where({ gte: '2026', lt: '2027' }), ['2026-01-05T10:00:00Z'], 'as texts')
  t.same(await where({ gt: 'z' }), ['é'], 'by code points')
  t.same(await where({ gte: 1, lt: 'a' }), ['10', '9'], 'both bounds hold')
  t.same(await where({ in: ['ten', '9', '"', 'none'] }), ['"', '9', 'ten'])
  t.same(await where({ not: 'ten' }), without('none', 'ten'), 'a document without the key does not match')
  t.same(await where({ exists: false }), ['none'])
  t.same(await where({ exists: true }), without('none'))
  t.same(await selected({ not: { metadata: { 'a "b" $.c': { gt: -3 } } } }), without('-2.5', '9', '10'))
  t.same(await selected({ not: { metadata: { other: 'x' } } }), all)
  t.same(await selected({ not: {} }), [])
  t.same(await selected({ and: [{}, {}] }), all)
  t.same(
    await selected({
      or: [
        { document_ids: [bare] },
        { metadata: { 'a "b" $.c': '10' } },
        { and: [{ metadata: { 'a "b" $.c': { gt: 'a' } } }, { not: { metadata: { 'a "b" $.c': 'ten' } } }] },
      ],
    }),
    ['10', 'none', 'é'],
  )
  t.same(await selected({ document_ids: [bare], metadata: { 'a "b" $.c': { exists: true } } }), [])
})

t.test('filters have at most 50 conditions and 4 levels', (t) => {
  const metadata = { a: 'x', b: { gt: 1 } }
  requireFilters({ or: Array.from({ length: 25 }, () => ({ metadata })) })
  requireFilters({ not: { or: [{ and: [{ metadata }] }] } })
  t.throws(
    () => requireFilters({ metadata, or: Array.from({ length: 25 }, () => ({ metadata })) }),
    /filters have at most 50 conditions/,
  )
  t.throws(
    () => requireFilters({ not: { or: [{ metadata }, { and: [{ not: {} }] }] } }),
    /filters\.not\.or\[1\]\.and\[0\]\.not is more than 4 levels deep/,
  )
  t.end()
})

t.test('rare words outweigh common words, and more matches outweigh fewer', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  for (let i = 0; i < 10; i++)
    await addDocument(
      db,
      base,
      `The server answers requests, and the server answers them quickly. Number ${i}.`,
    )
  for (let i = 0; i < 10; i++)
    await addDocument(db, base, `The client asks, and waits for the answer. Number ${i}.`)
  await addDocument(db, base, 'A tombstone marks what was deleted.')
  await addDocument(db, base, 'On the server a tombstone marks what was deleted.')
  const found = await find(ada, base, 'what does the server do with a tombstone')
  t.same(texts(found).slice(0, 2), [
    'On the server a tombstone marks what was deleted.',
    'A tombstone marks what was deleted.',
  ])
  t.same(
    found.map(({ score }) => score),
    found.map(({ score }) => score).toSorted((a, b) => b - a),
    'scores descend',
  )
  t.equal((await find(ada, base, 'who are you')).length, 0, 'stop words that no text contains find nothing')
  t.ok((await find(ada, base, 'and the')).length > 0, 'a query of stop words finds texts that contain them')
})

t.test('words in headings and document names match', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  await addDocument(
    db,
    base,
    '# Refunds\n\nThey take five days.\n\n# Shipping\n\nIt takes two days, and there are ' +
      'no refunds for it, since the carrier has it then and will not give it back.',
    { name: 'terms.md' },
  )
  await addDocument(db, base, 'Nothing of the kind stands in here.', { name: 'Warranty-2026.pdf' })
  t.match((await find(ada, base, 'refund'))[0].text, /five days/)
  t.equal((await find(ada, base, 'warranty'))[0].name, 'Warranty-2026.pdf')
  await db.prisma.document.updateMany({
    where: { name: 'Warranty-2026.pdf' },
    data: { name: 'Guarantee.pdf' },
  })
  t.same(
    [(await find(ada, base, 'warranty')).length, (await find(ada, base, 'guarantee'))[0].name],
    [0, 'Guarantee.pdf'],
    'the current name counts',
  )
})

t.test('a misspelled word finds similar words', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  await addDocument(db, base, 'Photosynthesis turns light into sugar.')
  await addDocument(db, base, 'The committee deliberates in December.')
  for (const [typo, right] of [
    ['photosinthesis', 0],
    ['comittee', 1],
    ['decmber', 1],
    ['Photosynthessis', 0],
  ] as const) {
    t.match((await find(ada, base, typo))[0]?.text, [/sugar/, /committee/][right], typo)
  }
})

t.test('words match in all forms and accents of their language', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  const documents = {
    german: 'Die Häuser der Gebrüder Müller stehen an der Straße nach Köln.',
    french: 'Les chevaux mangeaient près de la forêt, où les élèves chantaient.',
    english: 'The children were running through the gardens.',
    russian: 'Книги лежат на столах в библиотеке.',
  }
  for (const [language, text] of Object.entries(documents)) await addDocument(db, base, text, { language })
  const cases: Array<[string, keyof typeof documents]> = [
    ['Haus', 'german'],
    ['Hauses', 'german'],
    ['Muller', 'german'],
    ['Müllers', 'german'],
    ['MÜLLER', 'german'],
    ['Mueller', 'german'],
    ['Strasse', 'german'],
    ['Koln', 'german'],
    ['manger', 'french'],
    ['foret', 'french'],
    ['forêts', 'french'],
    ['eleve', 'french'],
    ['chanter', 'french'],
    ['run', 'english'],
    ['garden', 'english'],
    ['книга', 'russian'],
    ['стол', 'russian'],
  ]
  for (const [query, language] of cases)
    t.equal((await find(ada, base, query))[0]?.text, documents[language], query)
})

t.test('a stop word of one language is significant in another', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  await addDocument(db, base, 'Die Katze und die Maus: die Geschichte.', { language: 'german' })
  for (const what of ['wind', 'rain', 'snow', 'hail', 'fog', 'frost'])
    await addDocument(db, base, `Here is nothing but ${what} in the mountains.`)
  for (const what of ['sleep', 'die', 'walk'])
    await addDocument(db, base, `Where old elephants ${what} is not known.`, { language: 'english' })
  t.match((await find(ada, base, 'where do elephants die'))[0]?.text, /elephants die/)
  t.match((await find(ada, base, 'die Katze'))[0]?.text, /Katze/)
})

t.test('texts in scripts without spaces are found by parts', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  const documents = [
    '私は東京の図書館で本を読みました。',
    '我们在北京大学学习计算机科学。',
    '도서관에서 책을 읽었습니다.',
    'ผมอ่านหนังสือในห้องสมุด',
  ]
  for (const text of documents) await addDocument(db, base, text, { language: 'simple' })
  for (const [query, at] of [
    ['図書館', 0],
    ['東京', 0],
    ['北京', 1],
    ['计算机', 1],
    ['도서관', 2],
    ['หนังสือ', 3],
  ] as const) {
    t.equal((await find(ada, base, query))[0]?.text, documents[at], query)
  }
})

t.test('words are found when their ids have more than 32 bits', async (t) => {
  await db.sql(statement("SELECT setval('lexemes_id_seq', 8589934592)"), [])
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  await addDocument(db, base, 'A walrus sleeps on the pier.')
  await addDocument(db, base, 'The lighthouse keeper reads.')
  t.same(texts(await find(ada, base, 'walrus pier')), ['A walrus sleeps on the pier.'])
  t.same(texts(await find(ada, base, 'lighthous')), ['The lighthouse keeper reads.'], 'a misspelled word')
})

t.test('no query makes the search fail', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  await addDocument(db, base, "The operator's manual: press A & B | C.", { name: "100%_o'hara.md" })
  const hostile = [
    'a & b | !c',
    "operator's",
    '":* <-> ((',
    "'; DROP TABLE chunks; --",
    '\\',
    '%',
    '_',
    '{1,2}',
    '🕰️',
    '!!!',
    '--',
    ' \u200b ',
    'operator '.repeat(440),
    Array.from({ length: 1300 }, (_, i) => `w${i}`)
      .join(' ')
      .slice(0, 4000),
    'x'.repeat(4000),
    '\ud800 operator',
    'é'.normalize('NFD').repeat(500),
  ]
  for (const query of hostile) await t.resolves(find(ada, base, query), query.slice(0, 20))
  for (const query of ["operator's", 'operator '.repeat(440), '\ud800 operator', "o'hara"])
    t.equal((await find(ada, base, query)).length, 1, query.slice(0, 20))
  t.same(await find(ada, base, '%'), [])
})

t.test('vector and keyword rankings are combined', async (t) => {
  const ada = await addUser(db)
  const base = await addKnowledgeBase(db, ada)
  const embed = (text: string): number[] => [
    /cat|feline/i.test(text) ? 3 : 0,
    /dog|canine/i.test(text) ? 2 : 0,
    0.1,
  ]
  for (const text of ['A cat sleeps.', 'A dog barks.', 'The stock market fell.', 'Feline grace.'])
    await addDocument(db, base, text, { embed })
  await addDocument(db, base, 'A document without vectors, with a cat.')
  const found = await find(ada, base, 'cat', { embedding: embed('cat') })
  t.equal(found[0].text, 'A cat sleeps.', 'first in both rankings')
  t.ok(Math.abs(found[0].score - 1) < 0.02)
  t.ok(texts(found).includes('Feline grace.'), 'found by its vector only')
  t.ok(texts(found).includes('A document without vectors, with a cat.'), 'found by its words only')
  t.equal((await find(ada, base, 'canine', { embedding: embed('canine') }))[0].text, 'A dog barks.')
  t.same(
    texts(await find(ada, base, 'cat', { embedding: [1, 2] })).sort(),
    ['A cat sleeps.', 'A document without vectors, with a cat.'],
    'vectors of another length are not compared',
  )
  await db.prisma.document.updateMany({ where: { knowledgeBaseId: base }, data: { embeddingModel: 'old' } })
  const byModel = async (embeddingModel: string): Promise<string[]> =>
    texts(await find(ada, base, 'cat', { embedding: embed('cat'), embeddingModel }))
  t.ok((await byModel('old')).includes('Feline grace.'))
  t.notOk((await byModel('new')).includes('Feline grace.'), 'vectors of another model are not compared')
})

t.test('the index counts are correct after concurrent replacements and deletions', async (t) => {
  const people = await Promise.all([addUser(db), addUser(db)])
  const bases = await Promise.all(people.map((person) => addKnowledgeBase(db, person)))
  const words = Array.from({ length: 60 }, (_, i) => `word${String.fromCharCode(97 + (i % 26))}${i}`)
  let seed = 7
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
  const text = (): string =>
    Array.from({ length: 1 + random(6) }, () =>
      Array.from({ length: 40 }, () => words[random(words.length)]).join(' '),
    ).join('.\n\n')
  const documents = await Promise.all(
    Array.from({ length: 16 }, async (_, i) => ({
      knowledgeBaseId: bases[i % 2],
      id: await addDocument(db, bases[i % 2], text()),
    })),
  )
  t.equal(await countMismatches(db), 0)
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const document = documents[random(documents.length)]
      const next = text()
      if (i % 6 === 5)
        return await db.prisma.document
          .deleteMany({ where: { id: { in: [document.id, documents[random(documents.length)].id] } } })
          .catch(retryable)
      await db.transaction(async (tx) => {
        const [there] = await tx.prisma.$queryRaw<
          unknown[]
        >`SELECT 1 FROM documents WHERE id = ${document.id} FOR UPDATE`
        if (there !== undefined)
          await replaceChunks(tx, document, toChunks(next, 60), {
            language: i % 2 === 0 ? 'english' : 'simple',
            embeddings: null,
          })
      })
    }),
  )
  t.equal(await countMismatches(db), 0)
  await db.prisma.document.deleteMany({ where: { knowledgeBaseId: bases[0] } })
  await db.prisma.knowledgeBase.delete({ where: { id: bases[1] } })
  t.equal(await countMismatches(db), 0)
  t.equal(
    await db.prisma.lexeme.count({ where: { knowledgeBaseId: { in: bases } } }),
    0,
    'no lexeme of deleted documents is left',
  )
})

/** Concurrent deletions in several knowledge bases may deadlock; PostgreSQL aborts one of them. */
function retryable(error: { code?: string; message: string }): void {
  if (!/deadlock|P2034/.test(`${error.code} ${error.message}`)) throw error
}
