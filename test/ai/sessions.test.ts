// The history of a session: its order, how much of it a model gets, and who may read the citations in it.
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { startChatFixture } from '../support/ai/chat.ts'
import { addDocument, addKnowledgeBase } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const fixture = await startChatFixture(t)
const {
  server,
  modelServer,
  person: { api, key },
} = fixture
const { database, principals } = server.services
const lastPrompt = (): string => JSON.stringify(modelServer.requests.at(-1)!.body)
const treasure = 'The treasure of the harbour lies in the old cellar.'

t.test('a removed member gets nothing of a deleted knowledge base of the project', async (t) => {
  const [owner, member] = [await server.person(), await server.person()]
  const path = { id: (await owner.api.createProject({ body: { name: 'Harbour' } })).id }
  const membership = { id: await createMember(server, path.id, member.id, 'viewer') }
  const base = await addKnowledgeBase(database, await principals.authenticate(`Bearer ${owner.key}`), path.id)
  await addDocument(database, base, treasure)
  modelServer.script = { answer: 'It lies in the old cellar [1].' }
  const first = await member.api.createChat({
    body: { message: 'Where does the treasure of the harbour lie?', knowledge_base_ids: [base] },
  })
  t.match(first.message.citations[0].quote, 'cellar')
  const session = first.session_id!
  modelServer.script = { answer: 'As I said, in the cellar.' }
  await member.api.createChat({ body: { message: 'Say it again!', session_id: session } })
  t.match(lastPrompt(), 'old cellar')

  await owner.api.removeMember({ path: { ...path, member_id: membership.id } })
  await owner.api.deleteKnowledgeBase({ path: { id: base } })
  modelServer.script = { answer: 'I do not know.' }
  await member.api.createChat({ body: { message: 'And once more!', session_id: session } })
  t.notMatch(lastPrompt(), 'cellar', 'neither the answer nor the one that repeated it is in the prompt')
  const messages = await Array.fromAsync(member.api.listSessionMessages.all({ path: { id: session } }))
  t.equal(messages.length, 6)
  t.same(
    messages.flatMap(({ citations }) => citations),
    [],
  )
  t.same((await member.api.getMessage({ path: { id: first.id } })).citations, [])
})

t.test('a session whose knowledge base its owner can no longer read remembers its answers', async (t) => {
  const [owner, member] = [await server.person(), await server.person()]
  const path = { id: (await owner.api.createProject({ body: { name: 'Harbour' } })).id }
  const membership = { id: await createMember(server, path.id, member.id, 'viewer') }
  const base = await addKnowledgeBase(database, await principals.authenticate(`Bearer ${owner.key}`), path.id)
  const { id: session } = await member.api.createSession({ body: { knowledge_base_ids: [base] } })
  await owner.api.removeMember({ path: { ...path, member_id: membership.id } })
  modelServer.script = { answer: 'It is a lantern.' }
  await member.api.createChat({ body: { message: 'What is it?', session_id: session } })
  await member.api.createChat({ body: { message: 'Say it again!', session_id: session } })
  t.match(lastPrompt(), 'It is a lantern.')
})

t.test('the owner of a deleted knowledge base still sees the citations, as stale', async (t) => {
  const base = await addKnowledgeBase(database, await principals.authenticate(`Bearer ${key}`))
  await addDocument(database, base, treasure)
  modelServer.script = { answer: 'It lies in the old cellar [1].' }
  const first = await api.createChat({
    body: { message: 'Where does the treasure of the harbour lie?', knowledge_base_ids: [base] },
  })
  await api.deleteKnowledgeBase({ path: { id: base } })
  t.match((await api.getMessage({ path: { id: first.id } })).citations, [{ stale: true, quote: /cellar/ }])
  await api.createChat({ body: { message: 'Say it again!', session_id: first.session_id! } })
  t.match(lastPrompt(), 'old cellar')
})

t.test('messages are in order even if the clocks of the servers differ', async (t) => {
  modelServer.script = ({ body }) => ({ answer: `Answer to ${body.messages.at(-1).content}` })
  const session = (await api.createChat({ body: { message: 'one' } })).session_id!
  const listed = async (order: 'asc' | 'desc') =>
    (await api.listSessionMessages({ path: { id: session }, query: { order } })).data
  // Ids as of a server whose clock is ahead.
  for (const { id } of await listed('desc'))
    await database.prisma.message.update({
      where: { id },
      data: { id: `${newId('msg').slice(0, 4)}7${newId('msg').slice(5)}` },
    })
  await api.createChat({ body: { message: 'two', session_id: session } })
  await api.createChat({ body: { message: 'three', session_id: session } })
  const contents = ['one', 'Answer to one', 'two', 'Answer to two', 'three']
  t.same(
    modelServer.requests.at(-1)!.body.messages.map(({ content }: any) => content),
    contents,
  )
  const messages = await listed('asc')
  t.same(
    messages.map(({ content }) => content),
    [...contents, 'Answer to three'],
  )
  t.same(await listed('desc'), messages.toReversed())
  await api.regenerateMessage({ path: { id: messages[3].id } })
  t.same(
    (await listed('asc')).map(({ content }) => content),
    contents.slice(0, 4),
    'the later messages are deleted',
  )
  t.equal((await api.getSession({ path: { id: session } })).message_count, 4)
  await api.updateMessage({ path: { id: messages[0].id }, body: { content: 'other' } })
  t.same(
    (await listed('asc')).map(({ content }) => content),
    ['other'],
  )
})

t.test('a model with an unknown context window gets up to a million characters', async (t) => {
  modelServer.script = { answer: 'Yes.' }
  const session = (await api.createChat({ body: { message: 'one', model: 'large' } })).session_id!
  const chat = (message: string) => api.createChat({ body: { message, session_id: session, model: 'large' } })
  for (let i = 0; i < 3; i++) await chat(`more ${i}`)
  await database.prisma.message.updateMany({
    where: { sessionId: session },
    data: { content: 'word '.repeat(40_000) },
  })
  await chat('last')
  const { messages } = modelServer.requests.at(-1)!.body
  t.equal(messages.length, 6)
  t.equal(messages.at(-1).content, 'last')
})
