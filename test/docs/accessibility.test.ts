// axe finds nothing serious or critical on the pages that people see, in light and in dark mode. The test of
// the reference page asserts the same of that page.
import t from 'tap'
import { assertNoBarriers } from '../support/browser/axe.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import {
  cards,
  createCatalog,
  createCheckout,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { price, monthly } = await createCatalog(server)
const items = [{ price_id: price, quantity: 2 }]

t.test('the guides, the catalogues and the pages of customers', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  const page = await browser.newPage()
  const paid = await createCheckout(server.admin, { items })
  await payWithCard(server, paid.id, cards.succeeds)
  const open = await createCheckout(server.admin, { items })
  const check = async (name: string): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await assertNoBarriers(t, page, `${name}, ${colorScheme}`)
    }
  }
  for (const path of [
    '/docs',
    '/docs/search?q=upload',
    '/docs/guides',
    '/docs/guides/quickstart',
    '/docs/errors',
    '/docs/events',
    `/pay/${open.id}`,
  ]) {
    await page.goto(server.url + path)
    await check(path)
  }
  const { id: customer } = (await server.admin.client.get('/payments/customers?limit=1')).body.data[0]
  await subscribe(server, server.admin, monthly)
  await subscribe(server, server.admin, monthly, { card: '5555 5555 5555 4444' })
  const session = await server.admin.client.post(`/payments/customers/${customer}/portal-sessions`, {})
  await page.goto(session.body.url)
  await check('the portal')
  await page.getByRole('link', { name: 'Change the plan' }).first().click()
  await page.getByRole('button', { name: 'Show the price' }).click()
  await check('the plans in the portal')
  await page.goto(session.body.url)
  await check('a link to the portal that is used')
  await page.goto(`${server.url}/pay/${open.id}`)
  // The form with its errors.
  await page.locator('button[type=submit], button:not([type])').first().click()
  await page.getByRole('alert').waitFor()
  await check('the pay page with errors')
  // The receipt itself forbids scripts, and axe is one.
  await page.goto('about:blank')
  await page.setContent((await server.admin.client.get(`/payments/orders/${paid.order_id}/receipt`)).text)
  await check('the receipt')
})
