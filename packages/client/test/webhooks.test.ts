// Webhooks that the TypeScript client verifies, signed by the server's code and by the official library.
import t from 'tap'
import { Webhook } from 'standardwebhooks'
import { createPlatformClient, verifyWebhook, type PlatformEvent } from '../../../generated/client/index.js'
import { newWebhookSecret, signedHeaders } from '../../../services/webhooks/signature.ts'

const secret = newWebhookSecret()
const payload = JSON.stringify({ id: 'evt_1', type: 'project.created', data: { object: { name: 'é' } } })
const timestamp = Math.floor(Date.now() / 1000)
const headers = signedHeaders([secret], { id: 'evt_1', timestamp, body: payload })

t.test('a webhook of the server is verified in every form of body and headers', async (t) => {
  const { webhooks } = createPlatformClient({ baseUrl: 'http://127.0.0.1' })
  const event: PlatformEvent = await webhooks.verify({ payload, headers, secret })
  t.match(event, { type: 'project.created', data: { object: { name: 'é' } } })
  if (event.type === 'project.created') t.equal(event.data.object.name, 'é', 'typed by its type')
  const bytes = new TextEncoder().encode(payload)
  const capitals = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  )
  for (const request of [
    { payload: bytes, headers: new Headers(headers) },
    { payload: Buffer.from(payload), headers: capitals },
    { payload: bytes.buffer, headers },
  ])
    t.equal((await verifyWebhook({ ...request, secret })).id, 'evt_1')
  const official = new Webhook(secret).sign('evt_1', new Date(timestamp * 1000), payload)
  t.ok(await verifyWebhook({ payload, headers: { ...headers, 'webhook-signature': official }, secret }))
})

t.test('during a rotation either secret verifies', async (t) => {
  const next = newWebhookSecret()
  const both = signedHeaders([next, secret], { id: 'evt_1', timestamp, body: payload })
  t.ok(await verifyWebhook({ payload, headers: both, secret }))
  t.ok(await verifyWebhook({ payload, headers: both, secret: next }))
  t.ok(await verifyWebhook({ payload, headers, secret: [next, secret] }))
})

t.test('the secret comes from the environment unless it is given', async (t) => {
  await t.rejects(verifyWebhook({ payload, headers }), { message: /PLATFORM_WEBHOOK_SECRET/ })
  process.env['PLATFORM_WEBHOOK_SECRET'] = secret
  t.teardown(() => delete process.env['PLATFORM_WEBHOOK_SECRET'])
  t.ok(await verifyWebhook({ payload, headers }))
})

t.test('a webhook that is forged, changed or old is rejected', async (t) => {
  const now = Date.now()
  const old = signedHeaders([secret], { id: 'evt_1', timestamp: timestamp - 301, body: payload })
  const cases: Array<[string, object, RegExp]> = [
    ['another secret', { secret: newWebhookSecret() }, /No signature matches/],
    ['another body', { payload: payload.replace('é', 'e') }, /No signature matches/],
    ['another id', { headers: { ...headers, 'webhook-id': 'evt_2' } }, /No signature matches/],
    ['another version', { headers: { ...headers, 'webhook-signature': 'v1a,AAAA' } }, /No signature/],
    ['no Base64', { headers: { ...headers, 'webhook-signature': 'v1,***' } }, /No signature matches/],
    ['an old one', { headers: old, now }, /30\d s old; at most 300 s/],
    ['one of the future', { headers, now: (timestamp - 400) * 1000 }, /400 s in the future/],
    ['no time', { headers: { ...headers, 'webhook-timestamp': 'x' } }, /not a number/],
    [
      'no signature',
      { headers: { 'webhook-id': 'x', 'webhook-timestamp': '1' } },
      /no header webhook-signature/,
    ],
    ['a parsed body', { payload: JSON.parse(payload) }, /exact body/],
    ['a secret of another kind', { secret: 'sk_1' }, /starts with `whsec_`/],
    ['an empty secret', { secret: 'whsec_' }, /starts with `whsec_`/],
    ['no secret at all', { secret: [] }, /secret of the endpoint is missing/],
  ]
  for (const [name, change, message] of cases)
    await t.rejects(
      verifyWebhook({ payload, headers, secret, ...change }),
      { name: 'WebhookVerificationError', message },
      name,
    )
  t.ok(await verifyWebhook({ payload, headers: old, secret, tolerance: 600 }), 'with more tolerance')
  const text = signedHeaders([secret], { id: 'evt_1', timestamp, body: 'text' })
  await t.rejects(verifyWebhook({ payload: 'text', headers: text, secret }), { message: /not JSON/ })
})
