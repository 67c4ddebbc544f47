// What a repeated action answers: the table of the idempotency guide, compared with a running server. A POST
// that creates another resource each time has no row.
import t from 'tap'
import { requestFor, secured, send } from '../support/operations/operation-fixtures.ts'
import { readGuide } from '../support/generator/guides.ts'
import { recordChanges } from '../support/server/changes.ts'
import { startServer } from '../support/server/server.ts'

const rows = new Map(
  [
    ...readGuide('idempotency').matchAll(
      /^\| `((?:POST|DELETE) \S+)` +\| (\d{3}) +\| (\d{3}) +\| (\w+) +\|$/gm,
    ),
  ].map(([, request, first, second, effect]) => [request, { first, second, effect }]),
)
const repeatable = secured.filter(({ method }) => method === 'POST' || method === 'DELETE')
const rowOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replace('/v1', '')}`

const server = await startServer(t)
const changes = await recordChanges(t, server)

t.test('every row of the table is an operation', async (t) => {
  const requests = repeatable.map(rowOf)
  t.same(
    [...rows.keys()].filter((request) => !requests.includes(request)),
    [],
  )
})

for (const info of repeatable) {
  t.test(`${info.id} twice without an Idempotency-Key`, async (t) => {
    const request = await requestFor(server, info.id)
    const first = await send(request)
    const before = await changes()
    const second = await send(request)
    const after = await changes()
    const row = rows.get(rowOf(info))
    if (row === undefined) {
      t.match({ first: first.status, second: second.status }, { first: 201, second: 201 }, 'has no row')
      t.not(second.headers.get('location'), first.headers.get('location'), 'creates another resource')
      return
    }
    t.same([first.status, second.status].map(String), [row.first, row.second], second.text.slice(0, 200))
    if (row.effect === 'again') t.notSame(after, before, 'has an effect again')
    else t.same(after, before, 'writes nothing: no event, no e-mail, no payment')
    // The answer to repeated usage counts duplicates.
    const isCounted = info.id === 'recordUsage'
    if (row.effect === 'same' && second.status !== 204 && !isCounted) t.same(second.body, first.body)
  })
}
