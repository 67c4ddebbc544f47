// What was said in a session: its order, how much of it a model is given, and who may still be told of what it drew on.
import t from 'tap'
import { newId } from '../../services/ids.ts'
import { openStage } from '../support/chat.ts'
import { addBase, addDocument } from '../support/collection/shelf.ts'

const stage = await openStage(t)
const { server, upstream, person: { client } } = stage
const { database, principals } = server.services
const given = (): string => JSON.stringify(upstream.asked.at(-1)!.body)

t.test('who was removed from a project is told nothing of it when its knowledge base is deleted', async (t) => {
  const [owner, member] = [await server.person(), await server.person()]
  const principal = await principals.authenticate(`Bearer ${owner.key}`)
  const { body: { id: project } } = await owner.client.post('/projects', { name: 'Harbour' })
  const { body: membership } = await owner.client.post(`/projects/${project}/members`, { user_id: member.id, role: 'viewer' })
  const base = await addBase(database, principal, project)
  await addDocument(database, base, 'The treasure of the harbour lies in the old cellar.')
  upstream.script = { answer: 'It lies in the old cellar [1].' }
  const first = await member.client.post('/ai/chat', { message: 'Where does the treasure of the harbour lie?', knowledge_base_ids: [base] })
  t.match(first.body.message.citations[0].quote, 'cellar')
  const { session_id: session } = first.body
  upstream.script = { answer: 'As I said, in the cellar.' }
  await member.client.post('/ai/chat', { message: 'Say it again!', session_id: session })
  t.match(given(), 'old cellar')

  await owner.client.delete(`/projects/${project}/members/${membership.id}`)
  t.equal((await owner.client.delete(`/ai/knowledge/${base}`)).status, 204)
  upstream.script = { answer: 'I do not know.' }
  t.equal((await member.client.post('/ai/chat', { message: 'And once more!', session_id: session })).status, 200)
  t.notMatch(given(), 'cellar', 'neither the answer nor the one that repeated it')
  const { body: { data } } = await member.client.get(`/ai/sessions/${session}/messages?limit=100`)
  t.same(data.flatMap(({ citations }: any) => citations), [])
  t.same((await member.client.get(`/ai/messages/${first.body.id}`)).body.citations, [])
})

t.test('who may still read it is', async (t) => {
  const base = await addBase(database, await principals.authenticate(`Bearer ${stage.person.key}`))
  await addDocument(database, base, 'The treasure of the harbour lies in the old cellar.')
  upstream.script = { answer: 'It lies in the old cellar [1].' }
  const first = await client.post('/ai/chat', { message: 'Where does the treasure of the harbour lie?', knowledge_base_ids: [base] })
  t.equal((await client.delete(`/ai/knowledge/${base}`)).status, 204)
  t.match((await client.get(`/ai/messages/${first.body.id}`)).body.citations, [{ stale: true, quote: /cellar/ }])
  await client.post('/ai/chat', { message: 'Say it again!', session_id: first.body.session_id })
  t.match(given(), 'old cellar')
})

t.test('messages come in the order in which they were said, whatever the clocks of the servers', async (t) => {
  upstream.script = (asked) => ({ answer: `Answer to ${asked.body.messages.at(-1).content}` })
  const { body: { session_id: session } } = await client.post('/ai/chat', { message: 'one' })
  // As if a server whose clock is ahead had answered.
  const { body: { data } } = await client.get(`/ai/sessions/${session}/messages?order=asc`)
  for (const { id } of data.toReversed()) await database.prisma.message.update({ where: { id }, data: { id: `${newId('msg').slice(0, 4)}7${newId('msg').slice(5)}` } })
  await client.post('/ai/chat', { message: 'two', session_id: session })
  await client.post('/ai/chat', { message: 'three', session_id: session })
  const said = ['one', 'Answer to one', 'two', 'Answer to two', 'three']
  t.same(upstream.asked.at(-1)!.body.messages.map(({ content }: any) => content), said)
  const listed = async (order: string): Promise<any[]> => (await client.get(`/ai/sessions/${session}/messages?order=${order}`)).body.data
  const messages = await listed('asc')
  t.same(messages.map(({ content }) => content), [...said, 'Answer to three'])
  t.same(await listed('desc'), messages.toReversed())
  await client.post(`/ai/messages/${messages[3].id}/regenerate`, {})
  t.same((await listed('asc')).map(({ content }) => content), said.slice(0, 4), 'what came after is cut')
  t.equal((await client.get(`/ai/sessions/${session}`)).body.message_count, 4)
  await client.put(`/ai/messages/${messages[0].id}`, { content: 'other' })
  t.same((await listed('asc')).map(({ content }) => content), ['other'])
})

t.test('a model whose window nobody knows is given a million characters', async (t) => {
  upstream.script = { answer: 'Yes.' }
  const { body: { session_id: session } } = await client.post('/ai/chat', { message: 'one', model: 'large' })
  for (let i = 0; i < 3; i++) await client.post('/ai/chat', { message: `more ${i}`, session_id: session, model: 'large' })
  await database.prisma.message.updateMany({ where: { sessionId: session }, data: { content: 'word '.repeat(40_000) } })
  t.equal((await client.post('/ai/chat', { message: 'last', session_id: session, model: 'large' })).status, 200)
  const { messages } = upstream.asked.at(-1)!.body
  t.equal(messages.length, 6)
  t.equal(messages.at(-1).content, 'last')
})
