// The home page in a real browser: a click takes each first step and shows its requests, the charts show the
// values of a day, and the log has the requests of the console.
import t from 'tap'
import { startDocumentWorker } from '../../../test/support/ai/document-worker.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { openReceiver } from '../../../test/support/http/receiver.ts'
import { startServer } from '../../../test/support/server/server.ts'

t.test('the first steps of an account', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  startDocumentWorker(t, server)
  const receiver = await openReceiver(t)
  const browser = await launchBrowser(t)
  const { key } = server
  const { page, complaints } = await openConsole(t, browser, server.url, '', { key })
  const step = (title: string) => page.locator('.steps li').filter({ hasText: title })
  const take = async (title: string, button: string): Promise<void> => {
    await step(title).getByRole('button', { name: button }).click()
    await step(title).getByText('done').waitFor()
  }
  await take('Create a project', 'Create')
  await take('Upload a file', 'Upload a sample')
  await step('Upload a file').getByText('POST /v1/storage/upload').click()
  t.match(await step('Upload a file').locator('pre').allTextContents(), [
    /-F 'file=@canteen\.md'$/,
    'await client.storage.files.upload({"file":await fileFrom("canteen.md")})',
  ])
  await page.reload()
  await step('Upload a file').getByText('done').waitFor()
  await take('Ask a question of a document', 'Ask about a sample')
  t.match(await step('Ask a question').locator('q').textContent(), /The canteen opens at noon\./)
  await page.getByLabel('URL of your server').fill('http://192.0.2.1/hook')
  await step('Add a webhook endpoint').getByRole('button').click()
  await step('Add a webhook endpoint').getByRole('alert').waitFor()
  await page.getByRole('button', { name: 'API', exact: true }).click()
  const requests = page.locator('.api-log li')
  await requests.filter({ hasText: 'POST /v1/webhooks/endpoints 400' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByLabel('URL of your server').fill(receiver.url)
  await take('Add a webhook endpoint', 'Send a test event')
  await page.reload()
  await step('Add a webhook endpoint').getByText('done').waitFor()
  const other = await openConsole(t, browser, server.url, '', { key })
  await other.page.getByRole('button', { name: 'Dismiss' }).click()
  await other.page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' })
  await other.page.reload()
  await other.page.getByRole('heading', { name: 'Latest events' }).waitFor()
  t.equal(await other.page.getByRole('heading', { name: 'First steps' }).count(), 0)
  await take('Create a test order', 'Create a sample')
  t.match(await step('Create a test order').getByRole('link').getAttribute('href'), /\/pay\//)
  await page.getByRole('link', { name: 'checkout.created' }).waitFor()
  await assertAccessible(t, page, 'the home page')

  await page.getByRole('button', { name: 'API', exact: true }).click()
  await requests.filter({ hasText: 'POST /v1/payments/products 201' }).locator('summary').click()
  t.match(await requests.locator('pre:visible').allTextContents(), [
    /^curl -X POST .*\/v1\/payments\/products/,
    'await client.payments.products.create({"name":"Poster"})',
  ])
  await assertAccessible(t, page, 'the log')

  await server.services.requestRecorder.flush()
  await page.reload()
  t.equal(await page.getByRole('heading', { name: 'First steps' }).count(), 0)
  await page.getByRole('heading', { name: 'Latest events' }).waitFor()
  const requestsOfDays = page.locator('figure').filter({ hasText: 'Requests' })
  const { width, height } = (await requestsOfDays.locator('svg').boundingBox())!
  await requestsOfDays.locator('svg').hover({ position: { x: width - 2, y: height / 2 } })
  await requestsOfDays.getByText(/^\w+ \d+: \d+$/).waitFor()
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('heading', { name: 'Last 7 days' }).waitFor()
  const { id } = (await server.admin.client.get('/projects')).body.data[0]
  await page.goto(`${server.url}/console?project_id=${id}`)
  await page.locator('figcaption').filter({ hasText: 'Requests' }).waitFor()
  t.equal(await page.locator('figcaption').filter({ hasText: 'Storage' }).count(), 0)
  t.same(
    complaints.filter((each) => !each.includes('400')),
    [],
  )
})
