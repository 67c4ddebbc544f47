// Webhook signatures, verified by the library that receivers use, so that two implementations check each
// other.
import t from 'tap'
import { Webhook } from 'standardwebhooks'
import { newWebhookSecret, signedHeaders } from '../../services/webhooks/signature.ts'

const now = (): number => Math.floor(Date.now() / 1000)
const body = JSON.stringify({ type: 'project.created', data: { id: 'prj_1' } })

t.test('a secret is whsec_ and 32 random bytes', async (t) => {
  const secrets = new Set(Array.from({ length: 1_000 }, newWebhookSecret))
  t.ok([...secrets].every((secret) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)))
  t.equal(secrets.size, 1_000)
})

t.test('the example of the specification is reproduced', async (t) => {
  const headers = signedHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
  })
  t.strictSame(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

t.test('the official library accepts the signature', async (t) => {
  const bodies = [
    body,
    '{}',
    '{"text":"Grüße, 世界, 👋🏽, \\u0000"}',
    JSON.stringify({ text: '\u2028\ufeff\ud7ff\ue000 é e\u0301' }),
    JSON.stringify({ long: 'ü'.repeat(300_000) }),
  ]
  for (const body of bodies) {
    const secret = newWebhookSecret()
    const headers = signedHeaders([secret], { id: 'evt_1', timestamp: now(), body })
    t.strictSame(new Webhook(secret).verify(body, headers), JSON.parse(body))
    t.strictSame(
      new Webhook(secret).verify(Buffer.from(body), headers),
      JSON.parse(body),
      'also for the received bytes',
    )
  }
})

t.test('signatures equal those of the official library, for secrets of any length', async (t) => {
  for (let length = 24; length <= 64; length++) {
    const secret = `whsec_${Buffer.alloc(length, length).toString('base64')}`
    const timestamp = now()
    t.equal(
      signedHeaders([secret], { id: 'evt_1', timestamp, body })['webhook-signature'],
      new Webhook(secret).sign('evt_1', new Date(timestamp * 1000), body),
    )
  }
})

t.test('a modified message is rejected', async (t) => {
  const secret = newWebhookSecret()
  const timestamp = now()
  const headers = signedHeaders([secret], { id: 'evt_1', timestamp, body })
  const webhook = new Webhook(secret)
  t.throws(() => webhook.verify(`${body} `, headers), /No matching signature/)
  t.throws(() => webhook.verify(body.replace('prj_1', 'prj_2'), headers), /No matching signature/)
  t.throws(() => webhook.verify(body, { ...headers, 'webhook-id': 'evt_2' }), /No matching signature/)
  t.throws(
    () => webhook.verify(body, { ...headers, 'webhook-timestamp': `${timestamp - 1}` }),
    /No matching signature/,
  )
  t.throws(
    () =>
      webhook.verify(body, {
        ...headers,
        'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,'),
      }),
    /No matching signature/,
  )
  t.throws(() => new Webhook(newWebhookSecret()).verify(body, headers), /No matching signature/)
})

t.test('an old message with a valid signature is rejected', async (t) => {
  const secret = newWebhookSecret()
  t.throws(
    () =>
      new Webhook(secret).verify(
        body,
        signedHeaders([secret], { id: 'evt_1', timestamp: now() - 600, body }),
      ),
    /too old/,
  )
})

t.test('during a rotation both the old and the new secret verify', async (t) => {
  const old = newWebhookSecret()
  const fresh = newWebhookSecret()
  const headers = signedHeaders([fresh, old], { id: 'evt_1', timestamp: now(), body })
  const [first, second, ...more] = headers['webhook-signature'].split(' ')
  t.equal(more.length, 0)
  t.ok(new Webhook(old).verify(body, headers))
  t.ok(new Webhook(fresh).verify(body, headers))
  t.ok(new Webhook(fresh).verify(body, { ...headers, 'webhook-signature': first }), 'the newest first')
  t.ok(new Webhook(old).verify(body, { ...headers, 'webhook-signature': second }))
  t.throws(() => new Webhook(newWebhookSecret()).verify(body, headers), /No matching signature/)
})

t.test('signing with an invalid secret throws', async (t) => {
  t.throws(() => signedHeaders(['c2VjcmV0'], { id: 'evt_1', timestamp: now(), body }), /begins with whsec_/)
})
