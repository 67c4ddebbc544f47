// Many people sign in at once: all of them succeed, and the requests of others are not slowed down much.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { password, setPassword } from '../support/operations/operation-fixtures-auth.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { isLongForm } from '../support/long-form.ts'

const people = isLongForm ? 1_000 : 16
/** Requests that are measured before the sign-ins. Their times are compared in the long form only. */
const requests = isLongForm ? 300 : 20
const ratio = 5

const server = await startServer(t, { env: { TRUST_PROXY: '127.0.0.1' } })
const reader = await server.person()

/** Milliseconds of requests, one after another, while `goesOn`. */
async function measure(goesOn: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (goesOn()) {
    const startedAt = performance.now()
    const { status } = await reader.client.get('/projects')
    times.push(performance.now() - startedAt)
    t.equal(status, 200)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return times
}

const p99 = (times: number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]

t.test(`${people} sign-ins at once`, async (t) => {
  const all: Person[] = []
  for (let i = 0; i < people; i++) {
    const person = await server.person()
    await setPassword(server, person.id)
    all.push(person)
  }
  const anyone = createClient(server.url, null)
  let left = requests
  await measure(() => left-- > 0)
  left = requests
  const calm = await measure(() => left-- > 0)
  let isOver = false
  const measured = measure(() => !isOver)
  const replies = await Promise.all(
    all.map(({ email }, i) =>
      anyone.post(
        '/auth/sessions',
        { method: 'password', email, password },
        { headers: { 'x-forwarded-for': `10.1.${i >> 8}.${i & 255}` } },
      ),
    ),
  )
  isOver = true
  const busy = await measured
  t.same(
    replies.filter(({ status }) => status !== 201).map(({ status, text }) => `${status} ${text}`),
    [],
  )
  const found = `p99 ${p99(calm).toFixed(1)} ms alone, ${p99(busy).toFixed(1)} ms beside the sign-ins`
  t.comment(`${found}; ${busy.length} requests meanwhile`)
  if (isLongForm) t.ok(p99(busy) < ratio * p99(calm), found)
})
