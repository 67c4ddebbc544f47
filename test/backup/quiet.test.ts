// A restored copy that is not confirmed calls no payment gateway and no models, and parses no documents.
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { startBackgroundWorkers } from '../../services/background.ts'
import { confirmCopy } from '../../services/backup/restored-copy.ts'
import { startModelServer } from '../../scripts/bench/model-server.ts'
import { createCatalog, createCheckout } from '../support/operations/catalog-fixtures.ts'
import { startServer } from '../support/server/server.ts'
import { silentLog } from '../support/storage/storage.ts'
import { startFakeStripe } from '../support/payments/stripe.ts'
import { waitUntil } from '../support/server/wait.ts'

const markAsRestored = statement(
  "INSERT INTO restored_copy (backup_id, backup_created_at) VALUES ('bak_1', now())",
)

t.test('a restored copy calls no model and no gateway until it is confirmed', async (t: Test) => {
  const [models, stripe] = [await startModelServer(t), await startFakeStripe(t)]
  const server = await startServer(t, {
    env: { AI_UPSTREAMS: models.setting, AI_RETRIES: '0', ...stripe.env },
  })
  const { services } = server
  await services.database.sql(markAsRestored, [])
  const workers = await startBackgroundWorkers(services, {
    runJobs: true,
    log: silentLog,
    interval: 50,
    onError(error) {
      throw error
    },
  })
  t.teardown(() => workers.stop())

  const person = await server.person()
  const { client } = person
  const { price } = await createCatalog(server)
  const checkout = await createCheckout(person, { items: [{ price_id: price }] })
  const openPage = async () => (await fetch(checkout.url, { redirect: 'manual' })).status
  const { body: base } = await client.post('/ai/knowledge', { name: 'Notes' })
  const { body: document } = await client.post(`/ai/knowledge/${base.id}/documents`, {
    name: 'a.txt',
    text: 'The tide table of the harbour.',
  })
  const statusOf = async () =>
    (await client.get(`/ai/knowledge/${base.id}/documents/${document.id}`)).body.status
  const search = async () => (await client.post(`/ai/knowledge/${base.id}/search`, { query: 'tide' })).status
  const chat = async () =>
    await client.post('/ai/chat', { model: 'small', messages: [{ role: 'user', content: 'Hello' }] })

  t.equal(await openPage(), 503)
  t.match(await chat(), { status: 503, body: { error: { message: /restored copy/ } } })
  await search()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  t.equal(await statusOf(), 'queued')
  t.same([models.requests.length, stripe.requests.length], [0, 0])

  await confirmCopy(services.database)
  await waitUntil(async () => (await statusOf()) === 'ready', 'the document', 30_000)
  t.equal((await chat()).status, 200)
  t.equal(await search(), 200)
  t.equal(await openPage(), 303)
  t.ok(models.requests.length >= 2)
  t.equal(stripe.requests.length, 1)
})
