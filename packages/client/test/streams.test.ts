// Lists and event streams of the TypeScript client: paging, disconnects, resuming and closing.
import t from 'tap'
import { ConnectionError, createPlatformClient, type StreamEvent } from '../../../generated/client/index.js'
import { createDatabaseProxy } from '../../../test/support/database/database-proxy.ts'
import { waitUntilIdle, startChatFixture } from '../../../test/support/ai/chat.ts'
import { instantClock, typedClient } from '../../../test/support/http/typed-client.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

const stage = await startChatFixture(t)
const { server, modelServer, person } = stage
const client = typedClient(server.url, person.key)

/** Counts the requests. */
function counting(): { asked: string[]; fetch: (request: Request) => Promise<Response> } {
  const asked: string[] = []
  return {
    asked,
    fetch: (request) => {
      asked.push(request.url.slice(server.url.length))
      return fetch(request)
    },
  }
}

t.test('lists', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names) await client.createProject({ body: { name, tags: ['listed'] } })
  const query = { tag: 'listed', sort: 'name', order: 'asc', limit: 2 } as const

  t.test('request a page only when the previous one has been read', async (t) => {
    const { asked, fetch } = counting()
    const found: string[] = []
    const counted: number[] = []
    for await (const project of typedClient(server.url, person.key, { fetch }).listProjects.all({ query })) {
      found.push(project.name)
      counted.push(asked.length)
    }
    t.strictSame(found, names)
    t.strictSame(counted, [1, 1, 2, 2, 3])
    t.equal(asked.length, 3, 'and none after the last')
  })

  t.test('a loop over a list throws its error, and no promise is left rejected', async (t) => {
    const unhandled: unknown[] = []
    const onUnhandled = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', onUnhandled)
    t.teardown(() => process.off('unhandledRejection', onUnhandled))
    const list = typedClient(server.url, `${person.key.slice(0, -1)}!`).projects.list()
    await t.rejects(
      async () => {
        for await (const { name } of list) t.fail(name)
      },
      { name: 'AuthenticationError' },
    )
    // Node reports unhandled rejections when the queue of microtasks is empty.
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(unhandled, [])
  })

  t.test('start at the given page, and can be read by page', async (t) => {
    const pages = []
    for await (const { data, pagination } of client.listProjects.pages({ query: { ...query, page: 2 } }))
      pages.push([pagination.page, data.map(({ name }) => name)])
    t.strictSame(pages, [
      [2, ['c', 'd']],
      [3, ['e']],
    ])
    const none = []
    for await (const project of client.listProjects.all({ query: { ...query, tag: 'nothing' } }))
      none.push(project)
    t.strictSame(none, [])
  })

  t.test('stop when the loop is left or the call is aborted', async (t) => {
    const { asked, fetch } = counting()
    const own = typedClient(server.url, person.key, { fetch })
    for await (const { name } of own.listProjects.all({ query })) if (name === 'b') break
    t.equal(asked.length, 1)
    const gone = new AbortController()
    const found: string[] = []
    await t.rejects(
      async () => {
        for await (const { name } of own.listProjects.all({ query, signal: gone.signal })) {
          found.push(name)
          if (name === 'c') gone.abort(new Error('the page is closed'))
        }
      },
      { name: 'AbortError', cause: { message: 'the page is closed' } },
    )
    t.strictSame(found, ['a', 'b', 'c'], 'no further item of the page')
    t.equal(asked.length, 3)
  })

  t.test('with a cursor are read to their current end', async (t) => {
    const { asked, fetch } = counting()
    const found: Array<[string, string]> = []
    for await (const { type, id } of typedClient(server.url, person.key, { fetch }).listEvents.all({
      query: { cursor: 'start', limit: 2, type: ['project.created'] },
    }))
      found.push([type, id])
    t.equal(found.length, 5)
    t.ok(found.every(([type], i) => type === 'project.created' && (i === 0 || found[i][1] > found[i - 1][1])))
    t.ok(asked.length >= 3 && asked.at(-1)!.includes('cursor='), asked.join())
  })
})

t.test('a stream of events', async (t) => {
  t.test('resumes after a disconnect without losing or repeating events', async (t) => {
    const wire = await createDatabaseProxy(t, server.url)
    let whole = Promise.resolve()
    const clock = { ...instantClock(), sleep: async () => await whole }
    const follower = typedClient(wire.url, person.key, { clock })
    const names: string[] = []
    const gone = new AbortController()
    const reading = (async () => {
      for await (const { event, data, id } of follower.streamEvents({
        query: { type: ['project.created'] },
        signal: gone.signal,
      })) {
        if (event !== 'message') continue
        t.match(id, /^[\w-]{22}$/)
        names.push((data.data.object as { name: string }).name)
      }
    })()
    await waitUntil(() => server.services.eventStreams.count === 1)
    await client.createProject({ body: { name: 'before' } })
    await waitUntil(() => names.length === 1)
    let mended = (): void => {}
    whole = new Promise((resolve) => {
      mended = resolve
    })
    await wire.cut()
    await client.createProject({ body: { name: 'meanwhile' } })
    await wire.restore()
    mended()
    await waitUntil(() => names.length === 2)
    await client.createProject({ body: { name: 'after' } })
    await waitUntil(() => names.length === 3)
    t.strictSame(names, ['before', 'meanwhile', 'after'])
    gone.abort(new Error('enough'))
    await t.rejects(reading, { name: 'AbortError', cause: { message: 'enough' } })
    await waitUntil(() => server.services.eventStreams.count === 0)
  })

  t.test('is closed when the loop is left, even while it is idle', async (t) => {
    const stream = client.streamEvents()
    const next = stream.next()
    await waitUntil(() => server.services.eventStreams.count === 1)
    await stream.return()
    t.strictSame(await next, { done: true, value: undefined })
    await waitUntil(() => server.services.eventStreams.count === 0)
  })

  t.test('is reopened after a restart of the server, and throws an error response', async (t) => {
    const events = [`id: 41\nevent: end\ndata: {"reason": "shutdown"}\n\n`, `: connected\nid: 43\n\n`]
    const asked: Array<string | null> = []
    const fetch = async (request: Request): Promise<Response> => {
      asked.push(request.headers.get('last-event-id'))
      const text = events.shift()
      if (text === undefined)
        return new Response(
          JSON.stringify({ error: { code: 'GONE', message: 'Removed.', details: { request_id: 'r' } } }),
          { status: 410 },
        )
      return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    }
    const seen: unknown[] = []
    await t.rejects(
      async () => {
        for await (const event of createPlatformClient({
          baseUrl: server.url,
          fetch,
          clock: instantClock(),
        }).streamEvents({ headers: { 'Last-Event-ID': '40' } }))
          seen.push(event)
      },
      { status: 410, code: 'GONE' },
    )
    t.strictSame(seen, [{ event: 'end', id: '41', data: { reason: 'shutdown' } }])
    t.strictSame(asked, ['40', '41', '43'], 'after the last id, also of a comment')
  })

  t.test('without data counts as broken after the idle time-out, and retries are limited', async (t) => {
    let opened = 0
    const fetch = async (): Promise<Response> => {
      opened++
      return new Response(new ReadableStream({}), { headers: { 'content-type': 'text/event-stream' } })
    }
    const waits: number[] = []
    const stream = createPlatformClient({
      baseUrl: server.url,
      fetch,
      clock: instantClock(waits),
      retries: 2,
    }).streamEvents({ silence: 20 })
    await t.rejects(stream.next(), ConnectionError)
    t.equal(opened, 3)
    t.strictSame(waits, [250, 500])
  })
})

t.test('a generated answer', async (t) => {
  t.test('arrives in parts and ends with its last event', async (t) => {
    modelServer.script = { answer: 'All of it is here.' }
    const events: StreamEvent<any>[] = []
    let text = ''
    for await (const event of client.streamChat({ body: { message: 'What is here?' } })) {
      events.push(event)
      if (event.event === 'message.delta') text += event.data.delta
    }
    t.equal(text, 'All of it is here.')
    t.equal(events[0].event, 'message.created')
    t.match(events.at(-1), { event: 'message.completed', data: { finish_reason: 'stop' } })
    t.equal(events.filter(({ event }) => event === 'message.completed').length, 1)
  })

  t.test('stops when the client leaves the loop', async (t) => {
    modelServer.script = { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 }
    let last = ''
    for await (const { event } of client.streamChat({ body: { message: 'Count!' } }))
      if ((last = event) === 'message.delta') break
    await waitUntilIdle(stage)
    t.equal(last, 'message.delta')
  })

  t.test('continues by streamMessage after a disconnect, and is requested once', async (t) => {
    modelServer.script = { answer: 'Cut here.' }
    const requests: string[] = []
    const fetch = async (request: Request): Promise<Response> => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`)
      const response = await globalThis.fetch(request)
      return requests.length === 1 ? cutAfter(response, 'message.created') : response
    }
    const stream = typedClient(server.url, person.key, { fetch, clock: instantClock() }).ai.chat.stream({
      message: 'Hi',
    })
    const seen: string[] = []
    for await (const { event } of stream) seen.push(event)
    t.equal(seen.filter((event) => event === 'message.created').length, 1)
    t.equal(seen.at(-1), 'message.completed')
    const { id } = await stream.final()
    t.strictSame(requests, ['POST /v1/ai/chat/stream', `GET /v1/ai/messages/${id}/stream`])
    await waitUntilIdle(stage)
  })

  t.test('that is cut before its first event is an error, and is requested once', async (t) => {
    let opened = 0
    const fetch = async (): Promise<Response> => {
      opened++
      throw new TypeError('fetch failed')
    }
    const cut = createPlatformClient({ baseUrl: server.url, apiKey: person.key, fetch, retries: 0 })
    await t.rejects(cut.ai.chat.stream({ message: 'Hi' }).text(), { name: 'ConnectionError' })
    t.equal(opened, 1)
  })

  t.test('has its text, its pieces and its whole answer', async (t) => {
    modelServer.script = { answer: 'All of it is here.' }
    const whole = await client.ai.chat.stream({ message: 'What is here?' }).final()
    t.match(whole, { status: 'completed', message: { content: 'All of it is here.' } })
    t.equal(await client.ai.chat.stream({ message: 'Again?' }).text(), 'All of it is here.')
    const stream = client.ai.chat.stream({ message: 'In pieces?' })
    let text = ''
    for await (const piece of stream.deltas()) text += piece
    t.equal(text, 'All of it is here.')
    t.equal(await stream.text(), text, 'also after it was read')
    t.match(await stream.final(), { finish_reason: 'stop' })
  })

  t.test('that failed throws the error of the API, and one that was left says so', async (t) => {
    const failing = typedClient(server.url, person.key).ai.chat.stream({
      message: 'x',
      model: 'no-such-model',
    })
    await t.rejects(failing.final(), { name: /ValidationError|NotFoundError/ })
    modelServer.script = { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 }
    const left = client.ai.chat.stream({ message: 'Count!' })
    for await (const { event } of left) if (event === 'message.delta') break
    await t.rejects(left.final(), { message: 'The stream was closed before the answer was complete.' })
    await waitUntilIdle(stage)
  })

  t.test('is read to its end despite a disconnect', async (t) => {
    modelServer.script = { answer: 'One two three.' }
    const { message } = await client.createChat({ body: { message: 'Count!' } })
    const ids: Array<string | null> = []
    const fetch = async (request: Request): Promise<Response> => {
      ids.push(request.headers.get('last-event-id'))
      const response = await globalThis.fetch(request)
      return ids.length === 1 ? cutAfter(response, 'message.created') : response
    }
    const seen: string[] = []
    let text = ''
    for await (const event of typedClient(server.url, person.key, {
      fetch,
      clock: instantClock(),
    }).streamMessage({ path: { id: message.id } })) {
      seen.push(event.event)
      if (event.event === 'message.delta') text += event.data.delta
    }
    t.equal(text, 'One two three.')
    t.equal(seen.filter((event) => event === 'message.created').length, 1, 'what was seen is not seen again')
    t.equal(seen.at(-1), 'message.completed')
    t.equal(ids.length, 2)
    t.match(ids, [null, /^\d+$/])
  })
})

/** Breaks the connection after the first event with the name. */
function cutAfter(response: Response, name: string): Response {
  const decoder = new TextDecoder()
  let text = ''
  const cutting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true })
      const end = text.indexOf('\n\n', text.indexOf(`event: ${name}`))
      if (end === -1) return
      controller.enqueue(new TextEncoder().encode(text.slice(0, end + 2)))
      // The forwarded data must be read before the stream fails.
      setImmediate(() => controller.error(new TypeError('terminated')))
    },
  })
  return new Response(response.body!.pipeThrough(cutting), {
    status: response.status,
    headers: response.headers,
  })
}
