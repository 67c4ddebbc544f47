// axe finds nothing serious or critical on the pages that people see, in light and in dark mode. The test of
// the reference page asserts the same of that page.
import t from 'tap'
import { assertNoBarriers } from '../support/browser/axe.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { cards, createCatalog, createCheckout, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { price } = await createCatalog(server)
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
    '/docs/guides',
    '/docs/guides/quickstart',
    '/docs/errors',
    '/docs/events',
    `/pay/${open.id}`,
  ]) {
    await page.goto(server.url + path)
    await check(path)
  }
  // The form with its errors.
  await page.locator('button[type=submit], button:not([type])').first().click()
  await page.getByRole('alert').waitFor()
  await check('the pay page with errors')
  // The receipt itself forbids scripts, and axe is one.
  await page.goto('about:blank')
  await page.setContent((await server.admin.client.get(`/payments/orders/${paid.order_id}/receipt`)).text)
  await check('the receipt')
})
