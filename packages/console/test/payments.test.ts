// The console's pages of payments: an order is made, paid, refunded; a subscription has a time line.
import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { clickPay, fillCard } from '../../../test/support/browser/payment-page.ts'
import {
  cards,
  createCatalog,
  createCheckout,
  payWithCard,
} from '../../../test/support/operations/catalog-fixtures.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const catalog = await createCatalog(server)

  async function confirm(page: Page, name: string): Promise<void> {
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  }

  t.test('an order is made, paid by a test card, and refunded', async (t) => {
    const person = await server.person()
    const { page, complaints } = await openConsole(t, browser, server.url, '/payments/orders', {
      key: person.key,
    })
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await confirm(page, 'Create')
    t.match(await page.locator('.error').first().textContent(), 'price_id', 'the problem stands at its item')
    await page.getByRole('dialog').getByLabel('Price ID').fill(catalog.price)
    await page.getByLabel('Quantity').fill('2')
    await page.getByRole('button', { name: 'Add' }).click()
    t.equal(await page.getByRole('dialog').getByLabel('Price ID').count(), 2)
    await page.getByRole('button', { name: 'Remove' }).last().click()
    await assertAccessible(t, page, 'a form with a list')
    await confirm(page, 'Create')
    await page.locator('dd .state', { hasText: 'pending' }).waitFor()
    t.match(await page.locator('main').textContent(), '€39.98', 'the amount in its currency')
    await assertAccessible(t, page, 'an order')
    const order = page.url().split('/').at(-1)!

    await page.getByRole('link', { name: 'Checkout sessions' }).last().click()
    await page.getByRole('heading', { name: 'Checkout sessions' }).waitFor()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    t.equal(
      await page.getByRole('dialog').getByLabel('Order ID').inputValue(),
      order,
      'the filter is the first value',
    )
    await page.getByLabel('Success URL').fill('https://shop.example/thanks')
    await page.getByLabel('Cancel URL').fill('https://shop.example/cart')
    await confirm(page, 'Create')
    const link = page.getByRole('link', { name: /\/pay\// })
    const [paying] = await Promise.all([page.context().waitForEvent('page'), link.click()])
    await fillCard(paying, cards.succeeds)
    await clickPay(paying)
    await page.locator('dd .state', { hasText: 'complete' }).waitFor()
    // Chromium renders a page behind another one only once per second.
    await paying.close()

    const operator = await openConsole(t, browser, server.url, `/payments/orders/${order}`, {
      key: server.key,
    })
    await page.goto(`${server.url}/console/payments/orders/${order}`)
    const [receipt] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Receipt' }).click(),
    ])
    t.match(receipt.suggestedFilename(), /\.(html|pdf)$/)
    t.equal(await page.getByRole('button', { name: 'Cancel', exact: true }).count(), 0, 'a paid order')
    t.equal(
      await page.getByRole('button', { name: 'Create', exact: true }).count(),
      0,
      'only operators refund',
    )
    await operator.page.getByRole('button', { name: 'Create', exact: true }).click()
    await operator.page.getByRole('dialog').getByLabel('Amount').fill('5000')
    await confirm(operator.page, 'Create')
    t.match(
      await operator.page.getByRole('alert').textContent(),
      /About/,
      'too much: an error with its way on',
    )
    await operator.page.getByRole('dialog').getByLabel('Amount').fill('1999')
    await confirm(operator.page, 'Create')
    await operator.page.locator('dd .state', { hasText: 'succeeded' }).waitFor()
    const { body } = await person.client.get(`/payments/orders/${order}`)
    t.match(body, { status: 'partially_refunded', refunded_amount: 1999 })
    t.strictSame(complaints, [])
  })

  t.test('a subscription has a time line, is canceled and resumed', async (t) => {
    const person = await server.person()
    const session = await createCheckout(person, {
      mode: 'subscription',
      items: [{ price_id: catalog.monthly }],
    })
    await payWithCard(server, session.id, cards.succeeds)
    const path = `/payments/subscriptions/${session.subscription_id}`
    const { page, complaints } = await openConsole(t, browser, server.url, path, { key: person.key })
    const line = page.locator('ol.events li')
    await line.first().waitFor()
    t.match(await line.allTextContents(), [/^Renews/, /^Order .*€10\.00.*paid/, /^Created/])
    await assertAccessible(t, page, 'a subscription')
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await confirm(page, 'Cancel')
    await line.filter({ hasText: 'Ends' }).waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await confirm(page, 'Resume')
    await line.filter({ hasText: 'Renews' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0)
    t.strictSame(complaints, [])
  })

  t.test('an operator sees and advances the test clock', async (t) => {
    const path = '/payments/subscriptions'
    const { page } = await openConsole(t, browser, server.url, path, { key: server.key })
    const clock = page.locator('.clock')
    await clock.waitFor()
    await assertAccessible(t, page, 'the test clock')
    await clock.getByRole('button', { name: 'Advance' }).click()
    await page.getByLabel('By seconds').fill('86400')
    await confirm(page, 'Advance')
    await clock.getByText(/tomorrow|in 1 day|in 24 hours/).waitFor()
  })
})
