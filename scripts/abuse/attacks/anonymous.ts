// Attacks without a valid key. The limits are those of the attacker's address.
import { newSecret } from '../../../infra/encryption/api-key-format.ts'
import type { AttackClient } from '../client.ts'
import { attack, type Attack, type Scene } from '../attack.ts'

const limit = '429 rate_limit'

/** A connection whose request never becomes complete: it sends one more byte now and then. */
async function drip({ client, over }: Scene, head: string): Promise<string> {
  const socket = client.socket()
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
  })
  socket.write(head)
  const timer = setInterval(() => socket.write('x'), 200)
  await Promise.race([over, new Promise((resolve) => socket.once('close', resolve))])
  clearInterval(timer)
  socket.destroy()
  return answer === '' ? 'held open' : answer.slice(9, 12)
}

/** The path of the script of the API reference, about 4 MB. */
async function largestScript(client: AttackClient): Promise<string> {
  const { text } = await client.send('GET', '/docs')
  return /src="(\/docs\/[^"]+)"/.exec(text)![1]
}

export const anonymousAttacks: Attack[] = [
  attack({
    name: 'documents',
    does: 'the OpenAPI document, the pages and the largest script of /docs, uncompressed',
    atOnce: 32,
    async prepare({ client }) {
      const script = await largestScript(client)
      return ['/openapi.json', '/openapi.yaml', '/docs/guides', script, '/docs/errors']
    },
    send: async ({ client }, paths, i) =>
      (await client.send('GET', paths[i % paths.length], { headers: { 'accept-encoding': 'identity' } }))
        .label,
    answers: ['200', '404 NOT_FOUND', limit],
    limit,
    cpuMs: 20,
  }),
  attack({
    name: 'bad keys',
    does: 'well-formed keys that do not exist',
    atOnce: 32,
    send: async ({ client }) => (await client.send('GET', '/v1/projects', { key: newSecret('live') })).label,
    answers: ['401 api_key', limit],
    limit,
    cpuMs: 10,
  }),
  attack({
    name: 'unknown paths',
    does: 'paths and methods that do not exist',
    atOnce: 32,
    send: async ({ client }, _, i) => {
      const path = i % 2 === 0 ? `/v1/${'x'.repeat(2_000)}${i}` : `/v1/projekts/${i}/members`
      return (await client.send(i % 3 === 0 ? 'DELETE' : 'GET', path)).label
    },
    answers: ['404 path', '404 NOT_FOUND', '405 METHOD_NOT_ALLOWED', limit],
    limit,
    cpuMs: 10,
  }),
  attack({
    name: 'readiness',
    does: 'readiness checks, which ask the database',
    atOnce: 32,
    send: async ({ client }) => (await client.send('GET', '/readyz')).label,
    answers: ['200', limit],
    cpuMs: 10,
  }),
  attack({
    name: 'forged gateway events',
    does: 'events of 250 KiB with a signature that is wrong',
    atOnce: 8,
    prepare: async () => JSON.stringify({ id: 'evt_1', type: 'x', data: 'x'.repeat(250 * 1024) }),
    send: async ({ client }, body) =>
      (
        await client.send('POST', '/v1/payments/webhooks/stripe', {
          body,
          headers: { 'content-type': 'application/json', 'stripe-signature': 't=1,v1=00' },
        })
      ).label,
    answers: ['400 signature', '404 NOT_FOUND', '413 max_bytes', limit],
    cpuMs: 30,
  }),
  attack({
    name: 'slow requests',
    does: '300 connections whose head or body arrives a byte at a time',
    atOnce: 300,
    send: async (scene, _, i) =>
      await drip(
        scene,
        i % 2 === 0
          ? 'GET /v1/projects HTTP/1.1\r\nhost: x\r\nx-slow: '
          : `POST /v1/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${scene.key()}\r\n` +
              'content-type: application/json\r\ncontent-length: 10000\r\n\r\n{"name":"',
      ),
    answers: ['held open', '408', '429'],
    cpuMs: 30,
  }),
  attack({
    name: 'unread answers',
    does: '100 connections that ask for 4 MB and read nothing',
    atOnce: 100,
    prepare: async ({ client }) => await largestScript(client),
    async send({ client, over }, script) {
      const socket = client.socket().pause()
      socket.write(`GET ${script} HTTP/1.1\r\nhost: x\r\n\r\n`)
      await over
      socket.destroy()
      return 'held open'
    },
    answers: ['held open'],
    cpuMs: 50,
  }),
]
