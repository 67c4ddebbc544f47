// The connections that the requests of one user take: the others wait without one.
import t from 'tap'
import { openDatabase, type RequestOrigin } from '../../infra/database/database.ts'
import { connectionsPerUser } from '../../infra/database/user-share.ts'
import { statement } from '../../infra/database/statements.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { waitUntil } from '../support/server/wait.ts'

function requestOf(user: string): RequestOrigin {
  const actor = {
    type: 'api_key',
    id: 'key_1',
    name: 'test',
    user_id: user,
    service_account_id: null,
  } as const
  return { id: 'req_1', actor }
}

t.test(
  'the transactions and statements of a user take turns, and those of another user do not wait',
  async (t) => {
    const { url } = await createTestDatabase(t)
    const database = openDatabase({ url, poolSize: 5 })
    t.teardown(() => database.close())
    const [busy, other] = [database.forRequest(requestOf('usr_a')), database.forRequest(requestOf('usr_b'))]
    const mayEnd = Promise.withResolvers<void>()
    let running = 0
    let most = 0
    const transactions = Array.from({ length: 8 }, async () => {
      await busy.transaction(async () => {
        most = Math.max(most, ++running)
        await mayEnd.promise
        running--
      })
    })
    const atOnce = connectionsPerUser(5)
    await waitUntil(() => running === atOnce, 'the first transactions to run')
    const one = statement<{ one: number }>('SELECT 1 AS one')
    let isAnswered = false
    const waiting = busy.sql(one, []).then(() => {
      isAnswered = true
    })
    t.same(await other.sql(one, []), [{ one: 1 }])
    t.equal(await other.transaction(async () => 'done'), 'done')
    const byPrisma = busy.prisma.user.count().then(() => {
      isAnswered = true
    })
    t.equal(await other.prisma.user.count(), 0)
    t.equal(isAnswered, false, 'statements and queries of Prisma wait, too')
    mayEnd.resolve()
    await Promise.all([...transactions, waiting, byPrisma])
    t.equal(most, atOnce)
  },
)

t.test('a user has at least one connection, and no more than the CPUs can serve', async (t) => {
  const connections = (cpus: number): number[] =>
    [1, 2, 5, 10, 100].map((poolSize) => connectionsPerUser(poolSize, cpus))
  t.same(connections(64), [1, 1, 2, 4, 40])
  t.same(connections(2), [1, 1, 2, 2, 2])
  t.same(connections(1), [1, 1, 1, 1, 1])
})
