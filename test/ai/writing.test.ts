// Answers while they are written, and those who follow them: slow ones, late ones, and ones whose message goes.
import t from 'tap'
import { beginChat } from '../../services/ai/turns.ts'
import type { Piece } from '../../services/ai/upstreams/completion.ts'
import { createWritings } from '../../services/ai/writing.ts'
import type { OperationInfo } from '../../services/operation.ts'
import { all, openStage, stream, textOf } from '../support/chat.ts'
import { openStream } from '../support/event-stream.ts'
import { addBase, addDocument } from './collection/shelf.ts'

const stage = await openStage(t, { models: [{ id: 'small', context_window: 8000, max_output_tokens: 1000 }, { id: 'large', max_output_tokens: 1_000_000 }] })
const { server, person, upstream } = stage
const { database, principals, writings } = server.services
const principal = await principals.authenticate(`Bearer ${person.key}`)
const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i} `)

t.test('whoever says to have seen more than there is is told the rest', { timeout: 60_000 }, async (t) => {
  upstream.script = { pieces: numbers(40), piecesPerSecond: 20 }
  const opened = await stream(stage, person, { message: 'Count!' })
  const { data: { id } } = await opened.next()
  await opened.next()
  const ahead = await openStream(server.url, person.key, { path: `/ai/messages/${id}/stream`, lastEventId: '1000000' })
  t.equal((await person.client.get('/ai/usage')).status, 200, 'the server goes on')
  const [events, late] = await Promise.all([all(opened), all(ahead)])
  t.match(late.at(-1), { event: 'message.completed', data: { status: 'completed' } })
  t.ok(textOf(late).length < textOf(events).length + 1)
  const again = await all(await openStream(server.url, person.key, { path: `/ai/messages/${id}/stream`, lastEventId: '1000000' }))
  t.same(again.map(({ event }) => event), ['message.completed'])
})

t.test('a slow reader is told every piece and every citation once', async (t) => {
  const base = await addBase(database, principal)
  for (const place of ['attic', 'cellar', 'harbour']) await addDocument(database, base, `The treasure of the ${place} is in the ${place}.`)
  const pieces = ['In the attic ', '[1]', ', or in the cellar [', '2', '] ', 'or else ', '[3', '    ', ']', ' or both [1', ', ', '2', ']', ' it is.']
  upstream.script = { pieces, piecesPerSecond: 20 }
  const opened = await stream(stage, person, { message: 'Where is the treasure?', knowledge_base_ids: [base] })
  const { data: created } = await opened.next()
  const gone = new AbortController()
  const told: any[] = []
  for await (const event of writings.follow(created, principal, 1)(gone.signal)) {
    told.push(event)
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  t.equal(textOf(told), pieces.join(''))
  const cited = told.filter(({ event }) => event === 'citation.added').map(({ data }) => data.chunk_id)
  t.equal(cited.length, 2)
  t.equal(new Set(cited).size, 2)
  const ids = told.map(({ id }) => Number(id))
  t.same(ids, ids.toSorted((a, b) => a - b))
  const events = await all(opened)
  t.equal(textOf(events), pieces.join(''))
})

t.test('a marker that comes in many pieces cites', async (t) => {
  const base = await addBase(database, principal)
  for (let i = 1; i <= 8; i++) await addDocument(database, base, `The treasure of number ${i} is in the place ${i}.`)
  upstream.script = { pieces: ['Both ', '[', '7', ',', ' ', '8', ',', ' ', '1', ',', ' ', '2', ']', '.'] }
  const { body } = await person.client.post('/ai/chat', { message: 'Where is the treasure?', knowledge_base_ids: [base] })
  t.equal(body.message.content, 'Both [7, 8, 1, 2].')
  t.equal(body.message.citations.length, 4)
})

t.test('a long answer in small pieces is written in time that grows as it does', { timeout: 120_000 }, async (t) => {
  const { config, events, upstreams } = server.services
  const pieces = 100_000
  async function * complete (): AsyncGenerator<Piece> {
    for (let i = 0; i < pieces; i++) {
      if (i % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
      yield { delta: 'abcd' }
    }
    yield { end: { finishReason: 'stop', usage: null } }
  }
  const own = createWritings({ database, listener: { ...server.services.listener, on () {} }, events, upstreams: { ...upstreams, complete } })
  t.teardown(() => own.close())
  const operation = { id: 'createChat' } as OperationInfo
  const { message, task } = await beginChat({ db: database, config, events, upstreams }, { id: 'req_long', operation, principal, keyed: null }, { message: 'Write a book!' })
  const here = new AbortController()
  const begun = process.cpuUsage()
  own.start(task!, here.signal)
  let length = 0
  for await (const { event, data } of own.follow(message, principal, 0)(here.signal) as AsyncIterable<any>) if (event === 'message.delta') length += data.delta.length
  const { user, system } = process.cpuUsage(begun)
  t.equal(length, 4 * pieces)
  t.ok(user + system < 6_000_000, `${(user + system) / 1e6} s`)
})
