// axe finds nothing serious or critical on the pages that people see, in light and in dark mode.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { violationsOn } from '../support/browser/axe.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { cards, createCatalog, createCheckout, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { openDialog, openReference } from '../support/browser/reference-page.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { price } = await createCatalog(server)
const items = [{ price_id: price, quantity: 2 }]

/** Until then, what fades in has too little contrast. */
const animationsEnded = `Promise.all(document.getAnimations()
  .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
  .map((animation) => animation.finished.catch(() => {})))`

/** Asserts that axe finds nothing serious or critical. */
async function checkPage(t: Test, page: Page, name: string): Promise<void> {
  await page.evaluate(animationsEnded)
  const found = (await violationsOn(page))
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 100)).join(' | ')}`)
  t.same(found, [], name)
}

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(
    `${colorScheme}: the guides, the catalogues and the pages of customers`,
    { skip: skipWithoutBrowser },
    async (t) => {
      const browser = await launchBrowser(t)
      const context = await browser.newContext({ colorScheme })
      const page = await context.newPage()
      const paid = await createCheckout(server.admin, { items })
      await payWithCard(server, paid.id, cards.succeeds)
      const open = await createCheckout(server.admin, { items })
      for (const path of [
        '/docs/guides',
        '/docs/guides/quickstart',
        '/docs/errors',
        '/docs/events',
        `/pay/${open.id}`,
      ]) {
        await page.goto(server.url + path)
        await checkPage(t, page, path)
      }
      // The receipt itself forbids scripts, and axe is one.
      await page.goto('about:blank')
      await page.setContent((await server.admin.client.get(`/payments/orders/${paid.order_id}/receipt`)).text)
      await checkPage(t, page, 'the receipt')
      // The form with its errors.
      await page.goto(`${server.url}/pay/${open.id}`)
      await page.locator('button[type=submit], button:not([type])').first().click()
      await checkPage(t, page, 'the pay page with errors')
    },
  )

  t.test(`${colorScheme}: the reference and its dialog`, { skip: skipWithoutBrowser }, async (t) => {
    const { page } = await openReference(t, server.url, {
      viewport: { width: 1200, height: 900 },
      colorScheme,
    })
    await checkPage(t, page, '/docs')
    await openDialog(page)
    await checkPage(t, page, 'Test Request')
  })
}
