// Messages in requests: contents as a text or as a list of parts, and the roles of a conversation.
import t from 'tap'
import { addDocument, addKnowledgeBase } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'
import { startChatFixture } from '../support/ai/chat.ts'

const { person, server, modelServer } = await startChatFixture(t)
const text = (value: string) => ({ type: 'text', text: value })

/** The messages that the model got with the last request. */
const received = (): unknown => modelServer.requests.at(-1)!.body.messages

t.test('a list of parts is the same as its joined text', async (t) => {
  const message = [text('Who decides?'), text(''), text('Say it 👍')]
  const { status, body } = await person.client.post('/ai/chat', { message, model: 'small' })
  t.equal(status, 200)
  t.type(body.message.content, 'string')
  t.same(received(), [{ role: 'user', content: 'Who decides?\n\nSay it 👍' }])
  const session = await person.client.get(`/ai/sessions/${body.session_id}`)
  t.equal(session.body.title, 'Who decides?')
  const stored = await person.client.get(`/ai/sessions/${body.session_id}/messages?order=asc`)
  t.equal(stored.body.data[0].content, 'Who decides?\n\nSay it 👍')

  const edit = `/ai/messages/${stored.body.data[0].id}`
  const same = await person.client.put(edit, { content: message })
  t.equal(same.body.updated_at, stored.body.data[0].updated_at, 'the same text changes nothing')
  const edited = await person.client.put(edit, { content: [text('Who'), text('else?')] })
  t.equal(edited.body.content, 'Who\nelse?')
  const after = await person.client.get(`/ai/sessions/${body.session_id}/messages`)
  t.equal(after.body.pagination.total, 1)
})

t.test('`developer` is treated as `system`, and the result of a tool is given with its call', async (t) => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [text('Use'), text('metres.')] },
    { role: 'user', content: 'How high is it?' },
    { role: 'assistant', content: [text('I look it up.')] },
    { role: 'tool', tool_call_id: 'call_1', content: [text('height: 300')] },
    { role: 'user', content: [text('And?')] },
  ]
  const { status } = await person.client.post('/ai/chat', { messages, model: 'small' })
  t.equal(status, 200)
  t.same(received(), [
    { role: 'system', content: 'Be brief.\n\nUse\nmetres.' },
    { role: 'user', content: 'How high is it?' },
    { role: 'assistant', content: 'I look it up.' },
    { role: 'user', content: 'Result of the tool call call_1:\nheight: 300' },
    { role: 'user', content: 'And?' },
  ])
})

t.test('a conversation may end with results of tools, which the model answers', async (t) => {
  const messages = [
    { role: 'user', content: 'How high and how old is it?' },
    { role: 'assistant', content: 'I look both up.' },
    { role: 'tool', tool_call_id: 'call_1', content: 'height: 300' },
    { role: 'tool', tool_call_id: 'call_2', content: [text('built: 1889')] },
  ]
  for (const path of ['/ai/chat', '/ai/chat/stream'])
    t.equal((await person.client.post(path, { messages, model: 'small' })).status, 200)
  t.same(received(), [
    ...messages.slice(0, 2),
    { role: 'user', content: 'Result of the tool call call_1:\nheight: 300' },
    { role: 'user', content: 'Result of the tool call call_2:\nbuilt: 1889' },
  ])
})

t.test('`extractive-1` searches with the joined text', async (t) => {
  const { database, principals } = server.services
  const base = await addKnowledgeBase(database, await principals.authenticate(`Bearer ${person.key}`))
  await addDocument(database, base, 'The ferry has no schedule. The bridge is open on Sundays only.')
  const messages = [
    { role: 'developer', content: 'Quote.' },
    { role: 'user', content: [text('When is the'), text('bridge open?')] },
  ]
  const options = { knowledge_base_ids: [base], model: 'extractive-1' }
  const reply = await person.client.post('/ai/chat', { messages, ...options })
  t.equal(reply.status, 200)
  t.match(reply.body.message.content, 'The bridge is open on Sundays only.')
  const ended = [
    ...messages,
    { role: 'assistant', content: 'I ask the harbour.' },
    { role: 'tool', tool_call_id: 'call_1', content: 'no answer' },
  ]
  const after = await person.client.post('/ai/chat', { messages: ended, ...options })
  t.equal(after.status, 200)
  t.match(after.body.message.citations, [{}], 'the question of the user is searched for')
})

t.test('invalid contents and roles are 400 with the field', async (t) => {
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const half = 'x'.repeat(100_000)
  const cases: Array<[body: object, field: string, constraint: string]> = [
    [{ message: [{ type: 'image', text: 'x' }] }, 'message[0].type', 'enum'],
    [user([text('x'), { type: 'input_audio', text: 'x' }]), 'messages[0].content[1].type', 'enum'],
    [user([]), 'messages[0].content', 'minItems'],
    [user(Array(101).fill(text('x'))), 'messages[0].content', 'maxItems'],
    [user([text(half), text(half)]), 'messages[0].content', 'maxLength'],
    [user([text(' '), text('\n')]), 'messages[0].content', 'pattern'],
    [user([{ type: 'text' }]), 'messages[0].content[0].text', 'required'],
    [user(7), 'messages[0].content', 'type'],
    [
      { messages: [{ role: 'tool', content: 'x' }, user('x').messages[0]] },
      'messages[0].tool_call_id',
      'required',
    ],
    [{ messages: [{ role: 'user', tool_call_id: 'c', content: 'x' }] }, 'messages[0].tool_call_id', 'role'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }, 'messages', 'role'],
    [
      { messages: [user('x').messages[0], { role: 'tool', tool_call_id: 'c', content: 'x' }] },
      'messages',
      'role',
    ],
    [{ messages: [{ role: 'assistant', content: 'x' }] }, 'messages', 'role'],
    [{ messages: [{ role: 'function', content: 'x' }] }, 'messages[0].role', 'enum'],
  ]
  for (const [body, field, constraint] of cases)
    for (const path of ['/ai/chat', '/ai/chat/stream']) {
      const reply = await person.client.post(path, { model: 'small', ...body })
      const expected = { status: 400, body: { error: { details: { field, constraint } } } }
      t.match(reply, expected, `${field} ${constraint}: ${reply.text}`)
    }
  const most = { ...user([text(half), text(half.slice(1))]), model: 'extractive-1' }
  t.equal(
    (await person.client.post('/ai/chat', most)).status,
    200,
    'the joined text may have 200,000 characters',
  )
})
