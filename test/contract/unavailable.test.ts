// A database that goes away in the midst of the work: 503 whatever the handler was doing, and no effect left behind.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { Operations } from '../../services/handler.ts'
import { handlers } from '../../generated/routes.ts'
import type { Reply } from '../support/client.ts'
import { createWire } from '../support/contract-proxy.ts'
import { askFor, beside, operationIds, secured, send, successOf } from '../support/operation-fixtures.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

/** Its answer is configured. */
const asksNoDatabase = 'listModels'

t.test(
  'every operation answers 503 when the database goes away under its handler, and serves again at once',
  async (t) => {
    const apart = await startServer(t)
    const wire = await createWire(t, apart.databaseUrl)
    let cutting = true
    const cutFirst = Object.fromEntries(
      operationIds.map((id) => [
        id,
        async (request: never, services: never) => {
          if (cutting) await wire.cut()
          return await handlers[id](request, services)
        },
      ]),
    ) as unknown as Operations
    const cutOff = await startServer(t, { ...beside(apart), databaseUrl: wire.url, handlers: cutFirst })
    for (const { id } of secured.filter(({ id }) => id !== asksNoDatabase)) {
      for (const headers of operations[id].idempotent ? [{}, { 'idempotency-key': `cut-${id}` }] : [{}]) {
        const ask = { ...(await askFor(apart, id)), server: cutOff }
        cutting = true
        const midst = await send(ask, { headers: headers as Record<string, string> })
        t.equal(
          midst.status,
          503,
          `${id} ${JSON.stringify(headers)} ${midst.text} ${midst.status === 503 ? '' : cutOff.logs.findLast((line) => line.includes('request failed'))}`,
        )
        t.ok(Number(midst.headers.get('retry-after')) > 0, `${id} says when to come back`)
        await wire.mend()
        cutting = false
        const again = await settled(() => send(ask, { headers: headers as Record<string, string> }))
        t.equal(
          again.status,
          successOf(id),
          `${id} serves again, and the cut one had no effect: ${again.text}`,
        )
      }
    }
    await waitUntil(() => cutOff.services.principals.listening, 'the server hears of revoked keys again')
  },
)

/** The database takes a moment to notice that a connection is cut; until then its transaction counts as running. */
async function settled(ask: () => Promise<Reply>): Promise<Reply> {
  const deadline = Date.now() + 10_000
  for (;;) {
    const reply = await ask()
    if (reply.body?.error?.details.constraint !== 'in_progress' || Date.now() > deadline) return reply
    await sleep(10)
  }
}
