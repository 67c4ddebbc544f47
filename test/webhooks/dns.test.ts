// Host names of endpoints: the results of DNS, and that an unresponsive name server does not delay other
// lookups.
import { createSocket, type Socket } from 'node:dgram'
import t, { type Test } from 'tap'
import { createDnsLookup } from '../../services/webhooks/dns.ts'
import type { LookupAddress } from 'node:dns'

const [typeA, typeAaaa] = [1, 28]

/**
 * A name server that knows good.example and both.example, no other names, and never answers for
 * silent.example.
 */
async function nameServer(t: Test): Promise<string> {
  const socket: Socket = createSocket('udp4')
  const known: Record<string, Partial<Record<number, number[]>>> = {
    'good.example': { [typeA]: [203, 0, 113, 7] },
    'both.example': {
      [typeA]: [203, 0, 113, 8],
      [typeAaaa]: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
    },
  }
  socket.on('message', (query, from) => {
    const labels: string[] = []
    let at = 12
    for (; query[at] > 0; at += query[at] + 1)
      labels.push(query.toString('latin1', at + 1, at + 1 + query[at]))
    const name = labels.join('.').toLowerCase()
    const type = query.readUInt16BE(at + 1)
    if (name.endsWith('silent.example')) return
    const address = known[name]?.[type]
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(known[name] === undefined ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(address === undefined ? 0 : 1, 6)
    head.fill(0, 8)
    const answer =
      address === undefined
        ? Buffer.alloc(0)
        : Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, address.length, ...address])
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), answer]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.teardown(() => socket.close())
  return `127.0.0.1:${socket.address().port}`
}

t.test('host names are resolved by DNS', async (t) => {
  const lookup = createDnsLookup({ servers: [await nameServer(t)], timeout: 1_000 })
  const lookUp = (name: string) =>
    new Promise<LookupAddress[]>((resolve, reject) =>
      lookup(name, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error))),
    )

  t.strictSame(await lookUp('good.example'), [{ address: '203.0.113.7', family: 4 }])
  t.strictSame(await lookUp('both.example'), [
    { address: '203.0.113.8', family: 4 },
    { address: '2001:db8::9', family: 6 },
  ])
  await t.rejects(lookUp('unknown.example'), { code: 'ENOTFOUND' })
  t.strictSame(
    (await lookUp('localhost')).map(({ address }) => address),
    ['127.0.0.1', '::1'],
    'localhost is the loopback address',
  )
  t.strictSame(
    (await lookUp('a.localhost.')).map(({ address }) => address),
    ['127.0.0.1', '::1'],
  )

  t.test('a hundred lookups without an answer do not delay another lookup', async (t) => {
    let over = 0
    const silent = Array.from({ length: 100 }, (_, i) =>
      lookUp(`n${i}.silent.example`)
        .catch(() => {})
        .finally(() => {
          over++
        }),
    )
    t.strictSame(await lookUp('good.example'), [{ address: '203.0.113.7', family: 4 }])
    t.equal(over, 0, 'while all of them are waiting')
    await Promise.all(silent)
  })
})
