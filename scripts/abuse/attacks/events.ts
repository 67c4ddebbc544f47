// Attacks of one user with several keys with events: streams, and webhooks to receivers that never answer.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { made } from '../client.ts'
import { attack, type Attack, type Scene } from '../attack.ts'

const limit = '429 rate_limit'
const atOnceLimit = '429 max_open'

/** Opens a stream and reads nothing, until the round ends. */
async function holdStream({ client, key, over }: Scene): Promise<string> {
  const socket = client.socket()
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (head) => resolve(head.toString('latin1').slice(9, 12)))
    socket.once('close', () => resolve('closed'))
  })
  socket.write(`GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key()}\r\n\r\n`)
  const status = await answer
  if (status === '200') {
    socket.pause()
    await over
  }
  socket.destroy()
  return status
}

async function openReceiver(scene: Scene): Promise<string> {
  const server: Server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  void scene.over.then(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

export const eventAttacks: Attack[] = [
  attack({
    name: 'event streams',
    does: '200 unread streams, and changes that each of them gets',
    atOnce: 200,
    prepare: async ({ client, key }) =>
      made(await client.send('POST', '/v1/projects', { key: key(), json: { name: 'Hot' } })).id as string,
    async send(scene, id, i) {
      if (i % 10 !== 9) return await holdStream(scene)
      const json = { description: `${i} ${'d'.repeat(4_900)}` }
      return (await scene.client.send('PATCH', `/v1/projects/${id}`, { key: scene.key(), json })).label
    },
    answers: ['200', '429', limit, atOnceLimit],
    limit: '429',
    cpuMs: 30,
  }),
  attack({
    name: 'slow receivers',
    does: 'changes that 20 webhooks report to a receiver that never answers',
    atOnce: 4,
    async prepare(scene) {
      const { client, key } = scene
      const url = await openReceiver(scene)
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const json = { url: `${url}${i}`, event_types: ['*'] }
          return made(await client.send('POST', '/v1/webhooks/endpoints', { key: key(), json }))
        }),
      )
    },
    send: async ({ client, key }, _, i) =>
      (await client.send('PATCH', '/v1/user/profile', { key: key(), json: { name: `Name ${i}` } })).label,
    answers: ['200', limit, atOnceLimit],
    cpuMs: 100,
  }),
]
