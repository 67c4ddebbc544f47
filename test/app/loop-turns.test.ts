// Heavy steps of one user take turns in the event loop, so that other users wait for one of them at most.
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { inTurns, takeTurn, turn } from '../../app/http/loop-turns.ts'

const requestOf = (userId: string): FastifyRequest =>
  ({ principal: { accountId: userId }, ip: '127.0.0.1' }) as FastifyRequest

/** A step that takes all the time of an iteration. */
const long = (step: () => void) => () => {
  const end = performance.now() + 2
  while (performance.now() < end);
  step()
}

t.test('a user has one long step in an iteration of the event loop', async (t) => {
  const done: string[] = []
  for (let i = 1; i <= 3; i++)
    takeTurn(
      requestOf('ann'),
      long(() => done.push(`ann ${i}`)),
    )
  takeTurn(requestOf('bob'), () => done.push('bob 1'))
  t.same(done, ['ann 1', 'bob 1'], 'the first step of each user waits for no other')
  await nextIteration()
  t.same(done, ['ann 1', 'bob 1', 'ann 2'])
  await nextIteration()
  t.same(done, ['ann 1', 'bob 1', 'ann 2', 'ann 3'])
})

t.test('steps that wait start in order, and after what the ones before have started', async (t) => {
  const done: string[] = []
  takeTurn(
    requestOf('cyd'),
    long(() => done.push('long')),
  )
  const steps = Array.from({ length: 50 }, async (_, i) => {
    await turn(requestOf('cyd'))
    done.push(`start ${i}`)
    for (let n = 0; n < 20; n++) await Promise.resolve()
    done.push(`end ${i}`)
  })
  t.same(done, ['long'])
  await Promise.all(steps)
  t.same(done, ['long', ...Array.from({ length: 50 }, (_, i) => [`start ${i}`, `end ${i}`]).flat()])
})

t.test('requests without a key take turns by address', async (t) => {
  const done: string[] = []
  const request = { principal: null, ip: '127.0.0.1' } as FastifyRequest
  takeTurn(
    request,
    long(() => done.push('first')),
  )
  takeTurn(request, () => done.push('second'))
  t.same(done, ['first'])
  await nextIteration()
  t.same(done, ['first', 'second'])
})

t.test('downloads have all their bytes in order', async (t) => {
  const chunks = Array.from({ length: 50 }, (_, i) => Buffer.alloc(1_000, i))
  const downloads = await Promise.all(
    Array.from({ length: 10 }, async (_, i) =>
      buffer(inTurns(requestOf(i < 8 ? 'ann' : 'bob'), Readable.from(chunks))),
    ),
  )
  for (const bytes of downloads) t.ok(bytes.equals(Buffer.concat(chunks)))
})

t.test('the end of either side ends the other', async (t) => {
  const failing = Readable.from(
    (async function* () {
      yield Buffer.from('a')
      throw new Error('the disk failed')
    })(),
  )
  await t.rejects(buffer(inTurns(requestOf('ann'), failing)), { message: 'the disk failed' })

  const source = new Readable({ read() {} })
  inTurns(requestOf('ann'), source).destroy()
  await new Promise((resolve) => source.once('close', resolve))
  t.ok(source.destroyed)
})
