// Database outages during a request: every operation answers 503 and leaves no partial effect. `npm test`
// asks a reading and a writing operation of each area, `npm run faults` all.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { Operations } from '../../services/handler.ts'
import { handlers } from '../../generated/routes.ts'
import type { Reply } from '../support/http/client.ts'
import { createDatabaseProxy } from '../support/database/database-proxy.ts'
import {
  requestFor,
  sharedDataOf,
  operationIds,
  secured,
  send,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import { provideEmbeddings } from '../support/operations/operation-fixtures-ai.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

/** They answer from the configuration and from the cached key, without the database. */
const asksNoDatabase = ['listModels', 'listOpenAiModels', 'getOpenAiModel', 'getCurrentApiKey']
const asking = secured.filter(({ id }) => !asksNoDatabase.includes(id))
const asked = isLongForm
  ? asking
  : oneOfEachKind(asking, ({ tag, method, handlesIdempotency }) => [
      tag,
      method === 'GET',
      handlesIdempotency,
    ])

t.test(
  'an operation answers 503 when the database fails during its handler, and works again at once',
  async (t) => {
    const directServer = await startServer(t)
    const proxy = await createDatabaseProxy(t, directServer.databaseUrl)
    let isOutage = true
    const failingHandlers = Object.fromEntries(
      operationIds.map((id) => [
        id,
        async (request: never, services: never) => {
          if (isOutage) await proxy.cut()
          return await handlers[id](request, services)
        },
      ]),
    ) as unknown as Operations
    const proxiedServer = await startServer(t, {
      ...sharedDataOf(directServer),
      databaseUrl: proxy.url,
      handlers: failingHandlers,
    })
    provideEmbeddings(proxiedServer)
    for (const { id } of asked) {
      for (const headers of operations[id].idempotent ? [{}, { 'idempotency-key': `cut-${id}` }] : [{}]) {
        const request = { ...(await requestFor(directServer, id)), server: proxiedServer }
        isOutage = true
        const failed = await send(request, { headers: headers as Record<string, string> })
        t.equal(
          failed.status,
          503,
          `${id} ${JSON.stringify(headers)} ${failed.text} ` +
            (failed.status === 503
              ? ''
              : proxiedServer.logs.findLast((line) => line.includes('request failed'))),
        )
        t.ok(Number(failed.headers.get('retry-after')) > 0, `${id} has a Retry-After`)
        await proxy.restore()
        isOutage = false
        const again = await retryWhileInProgress(() =>
          send(request, { headers: headers as Record<string, string> }),
        )
        t.equal(
          again.status,
          successStatus(id),
          `${id} succeeds after the outage; the failed request had no effect: ${again.text}`,
        )
      }
    }
    await waitUntil(
      () => proxiedServer.services.principals.listening,
      'the server to listen for revoked keys again',
    )
  },
)

/** Until PostgreSQL notices the broken connection, the idempotency key counts as in progress. */
async function retryWhileInProgress(request: () => Promise<Reply>): Promise<Reply> {
  const deadline = Date.now() + 10_000
  for (;;) {
    const reply = await request()
    if (reply.body?.error?.details.constraint !== 'in_progress' || Date.now() > deadline) return reply
    await sleep(10)
  }
}
