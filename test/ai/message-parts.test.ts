// Messages with images and documents: what the model gets, what a session keeps, and what is refused.
import t from 'tap'
import { startChatFixture } from '../support/ai/chat.ts'
import { team } from '../support/server/team.ts'

const { person, server, modelServer } = await startChatFixture(t, {
  models: [{ id: 'small', context_window: 8000 }, { id: 'blind', vision: false }, { id: 'large' }],
  env: { AI_TOKENS_PER_DAY: '1000000' },
})
const { client } = person
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const pngUrl = `data:image/png;base64,${png.toString('base64')}`
const text = (value: string) => ({ type: 'text', text: value })
const image = (fields: object) => ({ type: 'image_url', image_url: fields })
const document = (fields: object) => ({ type: 'file', file: fields })
const dataUrl = (type: string, value: string | Buffer) =>
  `data:${type};base64,${Buffer.from(value).toString('base64')}`
const shown = { type: 'image_url', image_url: { url: pngUrl } }

/** The messages that the model got with the last request. */
const received = (): any[] => modelServer.requests.at(-1)!.body.messages

async function upload(
  name: string,
  type: string,
  bytes: Buffer | string,
  by = person,
  project = '',
): Promise<string> {
  const form = new FormData()
  if (project !== '') form.append('project_id', project)
  form.append('file', new Blob([new Uint8Array(Buffer.from(bytes))], { type }), name)
  const headers = { authorization: `Bearer ${by.key}` }
  const response = await fetch(`${server.url}/v1/storage/upload`, { method: 'POST', body: form, headers })
  const body: any = await response.json()
  if (response.status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

t.test('a conversation has images and documents, by data URL and by file', async (t) => {
  const picture = await upload('dot.png', 'image/png', png)
  const page = await upload('hours.html', 'text/html', '<h1>Hours</h1><p>We open at ten.</p>')
  const content = [
    document({ file_data: dataUrl('text/plain', 'The code is 4711.'), filename: 'code.txt' }),
    text('What is this?'),
    image({ url: pngUrl, detail: 'low' }),
    image({ file_id: picture }),
    document({ file_id: page }),
    document({ file_id: picture }),
  ]
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content },
  ]
  for (const path of ['/ai/chat', '/chat/completions']) {
    const { status, body } = await client.post(path, { model: 'small', messages })
    t.equal(status, 200, JSON.stringify(body))
    const [system, { role, content: sent }] = received()
    t.same([system, role], [{ role: 'system', content: 'Be brief.' }, 'user'])
    t.match(
      sent[0].text,
      /^What is this\?\n<document name="code.txt">\nThe code is 4711.\n<\/document>\n<document name="hours/,
    )
    t.match(sent[0].text, /<document name="hours.html">\n[^]*We open at ten/)
    t.same(sent.slice(1), [shown, shown, shown])
  }
})

t.test('a session keeps images as files, and later answers get them again', async (t) => {
  const file = await upload('dot.png', 'image/png', png)
  const message = [text('What is this?'), image({ file_id: file })]
  const { body } = await client.post('/ai/chat', { model: 'small', message })
  const session = `/ai/sessions/${body.session_id}`
  const { body: list } = await client.get(`${session}/messages?order=asc`)
  t.match(list.data[0], { content: 'What is this?', image_file_ids: [file] })
  const next = async (model = 'small'): Promise<any[]> => {
    await client.post('/ai/chat', { model, message: 'And now?', session_id: body.session_id })
    return received()
  }
  t.same((await next())[0].content, [text('What is this?'), shown])
  t.equal((await next('blind'))[0].content, 'What is this?', 'a model without vision gets the text')
  const again = await client.post(`/ai/messages/${list.data[0].id}/regenerate`, { model: 'small' })
  t.equal(again.status, 200)
  t.same(received(), [{ role: 'user', content: [text('What is this?'), shown] }])
  const blind = await client.post(`/ai/messages/${list.data[0].id}/regenerate`, { model: 'blind' })
  t.match(blind.body.error, { details: { field: 'model', constraint: 'vision' } })

  const edited = await client.put(`/ai/messages/${list.data[0].id}`, { content: message })
  t.same(edited.body.updated_at, (await client.get(`/ai/messages/${list.data[0].id}`)).body.updated_at)
  t.equal(
    (await client.get(`${session}/messages`)).body.pagination.total,
    2,
    'the same content changes nothing',
  )
  t.equal((await client.delete(`/storage/files/${file}`)).status, 204)
  t.equal((await next())[0].content, 'What is this?', 'a deleted image is left out')
  const plain = await client.put(`/ai/messages/${list.data[0].id}`, { content: 'What?' })
  t.match(plain.body, { content: 'What?', image_file_ids: [] })
})

t.test('the model of images is checked before the request', async (t) => {
  const content = [text('What is this?'), image({ url: pngUrl })]
  const before = modelServer.requests.length
  for (const model of ['blind', 'extractive-1'])
    for (const path of ['/ai/chat', '/chat/completions']) {
      const reply = await client.post(path, { model, messages: [{ role: 'user', content }] })
      t.match(reply, {
        status: 400,
        body: { error: { details: { field: 'messages', constraint: 'vision' } } },
      })
    }
  t.equal(modelServer.requests.length, before)
  const { body } = await client.get('/ai/models')
  t.same(
    body.data.map(({ id, vision }: { id: string; vision: boolean | null }) => [id, vision]),
    [
      ['blind', false],
      ['extractive-1', false],
      ['large', null],
      ['small', null],
    ],
  )
})

t.test('the built-in model reads the text of documents', async (t) => {
  const content = [text('When?'), document({ file_data: dataUrl('text/plain', 'At ten.') })]
  const messages = [{ role: 'user', content }]
  t.equal((await client.post('/ai/chat', { model: 'extractive-1', messages })).status, 200)
})

t.test('parts that cannot be read are 400, and nothing is stored', async (t) => {
  const stored = await upload('a.txt', 'text/plain', 'text')
  const zip = await upload('a.bin', 'application/octet-stream', Buffer.from([1, 0, 2, 0, 255, 254]))
  const at = (field: string): string => `messages[0].content[1].${field}`
  const cases: Array<[part: object, field: string, constraint: string]> = [
    [{ type: 'image_url' }, at('image_url'), 'required'],
    [{ type: 'file' }, at('file'), 'required'],
    [{ ...text('x'), image_url: { file_id: stored } }, at('image_url'), 'type'],
    [{ ...image({ url: pngUrl }), file: { file_id: stored } }, at('file'), 'type'],
    [image({}), at('image_url'), 'oneOf'],
    [image({ url: pngUrl, file_id: stored }), at('image_url'), 'oneOf'],
    [document({ filename: 'x' }), at('file'), 'oneOf'],
    [image({ url: 'https://example.com/cat.png' }), at('image_url.url'), 'remote_url'],
    [document({ file_data: 'HTTP://example.com' }), at('file.file_data'), 'remote_url'],
    [image({ url: 'data:image/png;base64,' }), at('image_url.url'), 'data_url'],
    [image({ url: 'data:image/png,x' }), at('image_url.url'), 'data_url'],
    [image({ url: 'data:image/png;base64,@@' }), at('image_url.url'), 'data_url'],
    [image({ url: dataUrl('image/png', '<svg/>') }), at('image_url.url'), 'content_type'],
    [image({ url: dataUrl('image/png', 'no image') }), at('image_url.url'), 'content_type'],
    [image({ file_id: stored }), at('image_url.file_id'), 'content_type'],
    [document({ file_id: zip }), at('file.file_id'), 'unsupported'],
    [
      document({ file_data: dataUrl('application/pdf', '%PDF-1.7 nothing') }),
      at('file.file_data'),
      'damaged',
    ],
  ]
  for (const [part, field, constraint] of cases) {
    const messages = [{ role: 'user', content: [text('What?'), part] }]
    for (const path of ['/ai/chat', '/chat/completions']) {
      const reply = await client.post(path, { model: 'small', messages })
      t.match(reply, { status: 400, body: { error: { details: { field, constraint } } } }, reply.text)
    }
  }
  const many = (count: number, part: object) => [
    { role: 'user', content: [text('What?'), ...Array(count).fill(part)] },
  ]
  const limits: Array<[object[], string, string]> = [
    [many(11, image({ url: pngUrl })), 'messages[0].content[11]', 'maxItems'],
    [
      many(6, document({ file_data: dataUrl('text/plain', 'x') })),
      'messages[0].content[6].file.file_data',
      'maxItems',
    ],
    [
      [
        { role: 'assistant', content: [image({ url: pngUrl })] },
        { role: 'user', content: 'x' },
      ],
      'messages[0].content[0].type',
      'role',
    ],
    [[{ role: 'user', content: [image({ url: pngUrl })] }], 'messages[0].content', 'pattern'],
  ]
  for (const [messages, field, constraint] of limits) {
    const reply = await client.post('/ai/chat', { model: 'small', messages })
    t.match(reply, { status: 400, body: { error: { details: { field, constraint } } } }, reply.text)
  }
  const sessions = (await client.get('/ai/sessions')).body.pagination.total
  const reply = await client.post('/ai/chat', { message: [text('x'), image({ url: pngUrl })] })
  t.match(reply.body.error.details, { field: 'message', constraint: 'file_id' })
  t.equal((await client.get('/ai/sessions')).body.pagination.total, sessions)
})

t.test(
  "another tenant's file is refused as everywhere, and a key needs the scope to read files",
  async (t) => {
    const other = await server.person()
    const id = await upload('dot.png', 'image/png', png, other)
    const { status } = await client.get(`/storage/files/${id}`)
    t.equal(status, 403)
    const missing = 'file_01jd6y8m5qe8btc4y5w1r0n3fz'
    const places = (file: string): object[][] => [
      [text('What?'), image({ file_id: file })],
      [document({ file_id: file })],
      [{ ...text('What?'), file: { file_id: file } }],
      [image({ file_id: file, url: 'x' }), { type: 'file' }],
    ]
    const asked = await client.post('/ai/chat', { model: 'small', message: 'What?' })
    const { body: list } = await client.get(`/ai/sessions/${asked.body.session_id}/messages?order=asc`)
    const statusesOf = async (content: object[]): Promise<number[]> => {
      const replies = [
        await client.post('/ai/chat', { message: content }),
        ...(await Promise.all(
          list.data.map((message: any) => client.put(`/ai/messages/${message.id}`, { content })),
        )),
      ]
      for (const path of ['/ai/chat', '/chat/completions'])
        for (const role of ['user', 'assistant', 'system'])
          replies.push(await client.post(path, { model: 'extractive-1', messages: [{ role, content }] }))
      return replies.map((reply) => reply.status)
    }
    for (const content of places(id)) {
      t.same([...new Set(await statusesOf(content))], [status], JSON.stringify(content))
      const both = [image({ file_id: missing }), ...content]
      t.same([...new Set(await statusesOf(both))], [status], 'before a file that does not exist')
    }
    for (const content of places(missing))
      t.same([...new Set(await statusesOf(content))], [404], JSON.stringify(content))
    for (const type of ['input_image', 'input_file', 'input_text'])
      for (const [file, expected] of [
        [id, status],
        [missing, 404],
      ]) {
        const content = [{ type, file_id: file }]
        const item = { type: 'function_call_output', call_id: 'call_1', output: content }
        const message = { content, output: content }
        for (const input of [
          [{ role: 'user', content }],
          [{ role: 'assistant', content }],
          [item],
          [message],
        ])
          t.equal((await client.post('/responses', { model: 'small', input })).status, expected)
      }
    const many = Array.from({ length: 16 }, (_, i) => image({ file_id: `${missing.slice(0, -2)}${10 + i}` }))
    const { body } = await client.post('/ai/chat', { message: many })
    t.match(body.error.details, { field: 'message', constraint: 'maxItems' })
    const limited = await server.person({ scopes: ['ai:read', 'ai:write', 'storage:write'] })
    const own = await upload('dot.png', 'image/png', png, limited)
    const reply = await limited.client.post('/ai/chat', { message: [text('What?'), image({ file_id: own })] })
    t.match(reply, { status: 403, body: { error: { details: { constraint: 'scope' } } } }, reply.text)
  },
)

t.test('a repeated request and one over the limit of tokens open no files', async (t) => {
  const { client, ...user } = await server.person()
  const file = await upload('hours.txt', 'text/plain', 'We open at ten.', { client, ...user })
  const content = [text('When?'), document({ file_id: file })]
  const input = [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }]
  const requests: Array<[string, object]> = [
    ['/ai/chat', { model: 'small', message: content }],
    ['/chat/completions', { model: 'small', messages: [{ role: 'user', content }] }],
    ['/responses', { model: 'small', input }],
  ]
  const ask = async (key: string): Promise<Array<[number, string | null]>> => {
    const replies: Array<[number, string | null]> = []
    for (const [i, [path, body]] of requests.entries()) {
      const reply = await client.post(path, body, { headers: { 'idempotency-key': `${key}-${i}` } })
      replies.push([reply.status, reply.headers.get('idempotent-replayed')])
    }
    return replies
  }
  const all = <Reply>(reply: Reply): Reply[] => requests.map(() => reply)
  t.same(await ask('first'), all([200, null]))
  t.equal((await client.delete(`/storage/files/${file}`)).status, 204)
  t.same(await ask('first'), all([200, 'true']))
  t.same(await ask('second'), all([404, null]))
  modelServer.nextScripts.push({ answer: 'All.', usage: { prompt_tokens: 1, completion_tokens: 1_000_000 } })
  t.equal((await client.post('/ai/chat', { model: 'small', message: 'Spend it' })).status, 200)
  t.same(await ask('third'), all([429, null]))
  t.same(await ask('first'), all([200, 'true']))
})

t.test('a question with an image and a document is followed by calls of tools', async (t) => {
  const file = await upload('dot.png', 'image/png', png)
  const question = [text('What is this?'), document({ file_data: dataUrl('text/plain', 'A hint.') })]
  const calls = [{ id: 'call_a', name: 'look', arguments: '{}' }]
  const tools = [{ name: 'look' }]
  modelServer.nextScripts.push({ calls })
  const message = [...question, image({ file_id: file })]
  const { body } = await client.post('/ai/chat', { model: 'small', message, tools })
  t.equal(body.finish_reason, 'tool_calls')
  const asked = received()[0]
  t.same(asked.content.slice(1), [shown])
  const results = [{ tool_call_id: 'call_a', content: 'A lamp.' }]
  t.equal((await client.post(`/ai/messages/${body.id}/tool-results`, { results, tools })).status, 200)
  const conversation = [
    asked,
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_a' }] },
    { role: 'tool', content: 'A lamp.', tool_call_id: 'call_a' },
  ]
  t.match(received(), conversation)
  const next = { model: 'small', message: 'And now?', session_id: body.session_id }
  await client.post('/ai/chat', next)
  t.match(received().slice(0, 3), conversation)

  const messages = [
    { role: 'user', content: [...question, image({ url: pngUrl })] },
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', content: 'A lamp.', tool_call_id: 'call_a' },
  ]
  t.equal((await client.post('/ai/chat', { model: 'small', messages, tools })).status, 200)
  t.match(received(), conversation)
})

t.test('later answers get the images that their caller may read at that time', async (t) => {
  const { project, owner, editor: first, admin: second, member } = await team(server)
  const own = await upload('own.png', 'image/png', png, first)
  const shared = await upload('shared.png', 'image/png', png, first, project.id)
  const message = [text('What are these?'), image({ file_id: own }), image({ file_id: shared })]
  const asked = { model: 'small', project_id: project.id, message }
  const { body } = await first.client.post('/ai/chat', asked)
  const next = async (by: typeof person, session: string): Promise<any> => {
    const reply = await by.client.post('/ai/chat', {
      model: 'small',
      message: 'And now?',
      session_id: session,
    })
    t.equal(reply.status, 200, reply.text)
    return received()[0].content
  }
  t.same(await next(second, body.session_id), [text('What are these?'), shown], 'not those of another')
  t.same(await next(first, body.session_id), [text('What are these?'), shown, shown])
  const { body: list } = await second.client.get(`/ai/sessions/${body.session_id}/messages?order=asc`)
  await second.client.post(`/ai/messages/${list.data[0].id}/regenerate`, { model: 'small' })
  t.same(received()[0].content, [text('What are these?'), shown])

  const { body: alone } = await first.client.post('/ai/chat', { model: 'small', message })
  await owner.api.removeMember({ path: member('editor') })
  t.same(
    await next(first, alone.session_id),
    [text('What are these?'), shown],
    'not those of a former member',
  )
})

t.test("OpenAI's client sends images and files", async (t) => {
  const { default: OpenAI } = await import('openai')
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: person.key, maxRetries: 0 })
  const { choices } = await openai.chat.completions.create({
    model: 'small',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: pngUrl, detail: 'auto' } },
          { type: 'file', file: { filename: 'a.txt', file_data: dataUrl('text/plain', 'A lantern.') } },
        ],
      },
    ],
  })
  t.equal(choices[0].finish_reason, 'stop')
  t.match(received()[0].content[0].text, /A lantern/)
  const picture = await upload('dot.png', 'image/png', png)
  const response = await openai.responses.create({
    model: 'small',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: pngUrl, detail: 'auto' },
          { type: 'input_image', file_id: picture, detail: 'low' },
          { type: 'input_file', filename: 'a.txt', file_data: dataUrl('text/plain', 'A beacon.') },
        ],
      },
    ],
  })
  t.equal(response.status, 'completed')
  const [{ content }] = received()
  t.match(content[0].text, /^What is this\?[^]*A beacon/)
  t.same(content.slice(1), [shown, shown])
  const parts: Array<[part: object, param: string]> = [
    [{ type: 'input_image', image_url: 'https://example.com/cat.png' }, 'input'],
    [{ type: 'input_image' }, 'input'],
    [{ type: 'input_file', file_id: picture, text: 'x' }, 'input'],
    [{ type: 'input_text', text: 'x', file_id: picture }, 'input'],
    [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }, 'input[0].content[0].file_url'],
  ]
  for (const [part, param] of parts) {
    const { status, body } = await client.post('/responses', {
      model: 'small',
      input: [{ role: 'user', content: [part] }],
    })
    t.match({ status, param: body.error.param }, { status: 400, param }, JSON.stringify(body))
  }
})
