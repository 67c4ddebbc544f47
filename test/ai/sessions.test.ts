// What was said in a session: its order, how much of it a model is given, and who may still be told of what it drew on.
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import { openStage } from '../support/chat.ts'
import { addKnowledgeBase, addDocument } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const stage = await openStage(t)
const {
  server,
  upstream,
  person: { api, key },
} = stage
const { database, principals } = server.services
const given = (): string => JSON.stringify(upstream.asked.at(-1)!.body)
const treasure = 'The treasure of the harbour lies in the old cellar.'

t.test(
  'who was removed from a project is told nothing of it when its knowledge base is deleted',
  async (t) => {
    const [owner, member] = [await server.person(), await server.person()]
    const path = { id: (await owner.api.createProject({ body: { name: 'Harbour' } })).id }
    const membership = await owner.api.addMember({ path, body: { user_id: member.id, role: 'viewer' } })
    const base = await addKnowledgeBase(
      database,
      await principals.authenticate(`Bearer ${owner.key}`),
      path.id,
    )
    await addDocument(database, base, treasure)
    upstream.script = { answer: 'It lies in the old cellar [1].' }
    const first = await member.api.createChat({
      body: { message: 'Where does the treasure of the harbour lie?', knowledge_base_ids: [base] },
    })
    t.match(first.message.citations[0].quote, 'cellar')
    const session = first.session_id!
    upstream.script = { answer: 'As I said, in the cellar.' }
    await member.api.createChat({ body: { message: 'Say it again!', session_id: session } })
    t.match(given(), 'old cellar')

    await owner.api.removeMember({ path: { ...path, member_id: membership.id } })
    await owner.api.deleteKnowledgeBase({ path: { id: base } })
    upstream.script = { answer: 'I do not know.' }
    await member.api.createChat({ body: { message: 'And once more!', session_id: session } })
    t.notMatch(given(), 'cellar', 'neither the answer nor the one that repeated it')
    const messages = await Array.fromAsync(member.api.listSessionMessages.all({ path: { id: session } }))
    t.equal(messages.length, 6)
    t.same(
      messages.flatMap(({ citations }) => citations),
      [],
    )
    t.same((await member.api.getMessage({ path: { id: first.id } })).citations, [])
  },
)

t.test('who may still read it is', async (t) => {
  const base = await addKnowledgeBase(database, await principals.authenticate(`Bearer ${key}`))
  await addDocument(database, base, treasure)
  upstream.script = { answer: 'It lies in the old cellar [1].' }
  const first = await api.createChat({
    body: { message: 'Where does the treasure of the harbour lie?', knowledge_base_ids: [base] },
  })
  await api.deleteKnowledgeBase({ path: { id: base } })
  t.match((await api.getMessage({ path: { id: first.id } })).citations, [{ stale: true, quote: /cellar/ }])
  await api.createChat({ body: { message: 'Say it again!', session_id: first.session_id! } })
  t.match(given(), 'old cellar')
})

t.test(
  'messages come in the order in which they were said, whatever the clocks of the servers',
  async (t) => {
    upstream.script = (asked) => ({ answer: `Answer to ${asked.body.messages.at(-1).content}` })
    const session = (await api.createChat({ body: { message: 'one' } })).session_id!
    const listed = async (order: 'asc' | 'desc') =>
      (await api.listSessionMessages({ path: { id: session }, query: { order } })).data
    // As if a server whose clock is ahead had answered.
    for (const { id } of await listed('desc'))
      await database.prisma.message.update({
        where: { id },
        data: { id: `${newId('msg').slice(0, 4)}7${newId('msg').slice(5)}` },
      })
    await api.createChat({ body: { message: 'two', session_id: session } })
    await api.createChat({ body: { message: 'three', session_id: session } })
    const said = ['one', 'Answer to one', 'two', 'Answer to two', 'three']
    t.same(
      upstream.asked.at(-1)!.body.messages.map(({ content }: any) => content),
      said,
    )
    const messages = await listed('asc')
    t.same(
      messages.map(({ content }) => content),
      [...said, 'Answer to three'],
    )
    t.same(await listed('desc'), messages.toReversed())
    await api.regenerateMessage({ path: { id: messages[3].id } })
    t.same(
      (await listed('asc')).map(({ content }) => content),
      said.slice(0, 4),
      'what came after is cut',
    )
    t.equal((await api.getSession({ path: { id: session } })).message_count, 4)
    await api.updateMessage({ path: { id: messages[0].id }, body: { content: 'other' } })
    t.same(
      (await listed('asc')).map(({ content }) => content),
      ['other'],
    )
  },
)

t.test('a model whose window nobody knows is given a million characters', async (t) => {
  upstream.script = { answer: 'Yes.' }
  const session = (await api.createChat({ body: { message: 'one', model: 'large' } })).session_id!
  const say = (message: string) => api.createChat({ body: { message, session_id: session, model: 'large' } })
  for (let i = 0; i < 3; i++) await say(`more ${i}`)
  await database.prisma.message.updateMany({
    where: { sessionId: session },
    data: { content: 'word '.repeat(40_000) },
  })
  await say('last')
  const { messages } = upstream.asked.at(-1)!.body
  t.equal(messages.length, 6)
  t.equal(messages.at(-1).content, 'last')
})
