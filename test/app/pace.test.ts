// How fast the requests of one client start: a few at once, further ones at a steady rate.
import t from 'tap'
import { Pace } from '../../app/http/pace.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'

t.test('twelve requests start at once, and further ones at ten times the rate of the limit', async (t) => {
  const pace = new Pace(600)
  const delays = Array.from({ length: 15 }, () => pace.delay('ada', 5_000))
  t.same(delays, [...Array.from({ length: 12 }, () => 0), 10, 20, 30])
  t.equal(pace.delay('bob', 5_000), 0, 'another client does not wait')
  t.equal(pace.delay('ada', 5_035), 5, 'time that passes counts')
  t.equal(pace.delay('ada', 5_500), 0)
})

t.test('a client that rests has the whole burst again, and is forgotten', async (t) => {
  const pace = new Pace(60)
  for (let i = 0; i < 50; i++) pace.delay('ada', 1_000)
  t.equal(pace.size, 1)
  t.equal(pace.delay('bob', 100_000), 0)
  t.equal(pace.size, 1)
  t.same(
    Array.from({ length: 5 }, () => pace.delay('ada', 100_000)),
    [0, 0, 0, 100, 200],
    'a lower limit has a smaller burst',
  )
})

t.test('requests of a user wait with all keys together, and those of another do not', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_DEFAULT: '60' } })
  const [busy, other] = [await server.person(), await server.person()]
  const { body } = await busy.client.post('/user/api-keys', { name: 'Second', scopes: ['projects:read'] })
  const clients = [busy.client, createClient(server.url, body.key)]
  const answers: string[] = []
  const get = async (name: string, client: Client): Promise<void> => {
    const { status } = await client.get('/projects')
    answers.push(`${name} ${status}`)
  }
  const requests = Array.from({ length: 20 }, (_, i) => get('busy', clients[i % 2]))
  await get('other', other.client)
  t.ok(answers.length < 20, 'the last of the busy user still wait')
  await Promise.all(requests)
  t.same(answers.toSorted(), [...Array(20).fill('busy 200'), 'other 200'], 'none is refused')
})
