// The keys that are known: their keeper ends at once, whatever its connection is doing.
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createPrincipals } from '../../services/principals.ts'

t.test('principals close while their connection is being made', async (t) => {
  const deaf = createServer((socket) => socket.resume().on('error', () => {}))
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
  t.teardown(() => deaf.close())
  const principals = createPrincipals({ db: {} as never, url: `postgres://x:x@127.0.0.1:${(deaf.address() as AddressInfo).port}/x` })
  await sleep(50)
  const closed = await Promise.race([principals.close().then(() => true), sleep(3_000, false)])
  t.equal(closed, true)
})
