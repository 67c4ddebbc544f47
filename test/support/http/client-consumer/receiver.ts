// Runs story.ts in Node.js, and receives a webhook.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPlatformClient, fileFrom, WebhookVerificationError } from '@platform-api/client'
import type { PlatformEvent } from '@platform-api/client'
import { story } from './story.js'

const client = createPlatformClient()
let secret = ''
const received: Array<{ payload: string; headers: Record<string, string | string[] | undefined> }> = []
let onEvent!: (event: PlatformEvent) => void
const arrived = new Promise<PlatformEvent>((resolve) => {
  onEvent = resolve
})

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const payload = Buffer.concat(chunks).toString()
    client.webhooks.verify({ payload, headers: request.headers, secret }).then(
      (event) => {
        response.writeHead(204).end()
        received.push({ payload, headers: request.headers })
        onEvent(event)
      },
      (error: unknown) => response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end(),
    )
  })
})

await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
const endpoint = await client.webhooks.endpoints.create({ url, event_types: ['file.created'] })
secret = endpoint.secret
const result = await story({}, await fileFrom('report.bin'))
const event = await arrived
const forged = await fetch(url, { method: 'POST', body: '{}' })
server.close()
server.closeAllConnections()
const webhook = event.type === 'file.created' ? event.data.object.name : event.type
console.log(JSON.stringify({ result, webhook, forged: forged.status, secret, first: received[0] }))
