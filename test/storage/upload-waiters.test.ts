// Requests that wait for an upload: a few wait without asking the database all the time, the others get 409
// at once.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { acquireUploadLease } from '../../services/storage/uploads/lease.ts'
import { startServer } from '../support/server/server.ts'
import { tusClient } from '../support/http/tus.ts'

t.test('eight requests wait for an upload, and take turns after the release', async (t) => {
  const server = await startServer(t)
  const person = await server.person()
  const client = tusClient(server.url, person.key)
  const path = await client.createUpload(10)
  const lease = await acquireUploadLease(server.services.database, path.split('/').at(-1)!)
  const refused: number[] = []
  const appends = Array.from({ length: 40 }, async (_, i) => {
    const { status, body } = await client.append(path, 0, `${i}`.padStart(10, '0'))
    if (status === 409 && /writing/.test(body.error.message)) refused.push(i)
    return status
  })
  const startedAt = performance.now()
  while (refused.length < 32 && performance.now() - startedAt < 8_000) await sleep(20)
  t.equal(refused.length, 32, 'the others are refused while eight wait')
  server.statements.length = 0
  await sleep(1_000)
  const polls = server.statements.filter((text) => /uploads/.test(text)).length
  t.ok(polls <= 20, `${polls} statements in a second of waiting`)
  await lease.release()
  const releasedAt = performance.now()
  const statuses = await Promise.all(appends)
  t.ok(performance.now() - releasedAt < 2_500, 'the release wakes them')
  t.equal(statuses.filter((status) => status === 204).length, 1)
  t.equal(statuses.filter((status) => status === 409).length, 39)
})

t.test('requests for the offset do not wait behind others', async (t) => {
  const server = await startServer(t)
  const person = await server.person()
  const client = tusClient(server.url, person.key)
  const path = await client.createUpload(10)
  const lease = await acquireUploadLease(server.services.database, path.split('/').at(-1)!)
  server.statements.length = 0
  const replies = await Promise.all(Array.from({ length: 20 }, () => client.head(path)))
  t.ok(replies.every(({ status }) => status === 200))
  const asked = server.statements.filter((text) => /lease_requested_at = now/.test(text)).length
  t.ok(asked <= 32, `${asked} requests for the lease`)
  await lease.release()
})
