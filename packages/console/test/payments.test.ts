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
import { assertAccessible, assertStill, openConsole } from '../../../test/support/browser/console-browser.ts'
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
    await page.locator('.sale .state', { hasText: 'pending' }).waitFor()
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
    await assertStill(t, page, 'an order')
    await assertStill(t, operator.page, 'an order with the clock')
    const [receipt] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Receipt' }).click(),
    ])
    t.match(receipt.suggestedFilename(), /\.(html|pdf)$/)
    t.equal(await page.getByRole('button', { name: 'Cancel', exact: true }).count(), 0, 'a paid order')
    t.equal(await page.getByRole('button', { name: 'Refund' }).count(), 0, 'only operators refund')
    await operator.page.getByRole('button', { name: 'Refund' }).click()
    const dialog = operator.page.getByRole('dialog', { name: /^Refund order/ })
    const amount = dialog.getByLabel('Amount in EUR')
    t.equal(await amount.inputValue(), '39.98')
    await assertAccessible(t, operator.page, 'a refund')
    await amount.fill('40')
    await dialog.getByRole('button', { name: /^Refund/ }).click()
    t.equal(await amount.evaluate((input: any) => input.validity.rangeOverflow), true)
    await dialog.getByRole('button', { name: 'Half: €19.99' }).click()
    await dialog.getByLabel('Reason').fill('The poster was torn.')
    await dialog.getByRole('button', { name: 'Refund €19.99' }).click()
    const line = operator.page.locator('ol.events li')
    await line.filter({ hasText: /^Refund €19\.99 succeeded The poster was torn\./ }).waitFor()
    t.match(await line.allTextContents(), [/^Refund/, /^Payment/, /^Ordered/])
    t.match(await operator.page.locator('.sale').textContent(), '2 × Team plan')
    await assertAccessible(t, operator.page, 'an order with a refund')
    const { body } = await person.client.get(`/payments/orders/${order}`)
    t.match(body, { status: 'partially_refunded', refunded_amount: 1999 })

    await operator.page.getByRole('button', { name: 'Refund' }).click()
    t.equal(await amount.inputValue(), '19.99', 'what is left')
    const refunded = await server.admin.client.post(`/payments/orders/${order}/refunds`, {})
    t.equal(refunded.status, 201)
    await dialog.getByRole('button', { name: /^Refund €/ }).click()
    t.match(await dialog.getByRole('alert').textContent(), /About/, 'an error with its way on')
    t.strictSame(complaints, [])
  })

  t.test('orders have a product, a buyer and an amount, and are found by their status and day', async (t) => {
    const person = await server.person({ name: 'Grace Hopper' })
    const items = [{ price_id: catalog.price }, { price_id: catalog.price, quantity: 2 }]
    t.equal((await person.client.post('/payments/orders', { items })).status, 201)
    for (const [width, dark] of [
      [1280, false],
      [390, true],
    ] as const) {
      const { page, complaints } = await openConsole(t, browser, server.url, '/payments/orders', {
        key: person.key,
        width,
        dark,
      })
      const row = page.locator('tbody tr')
      await row.first().waitFor()
      const text = await row.first().textContent()
      t.match(text, 'Team plan and 1 more')
      t.match(text, 'Grace Hopper')
      t.match(text, '€59.97')
      await assertAccessible(t, page, `orders at ${width}`)
      await page.getByRole('button', { name: 'Paid', exact: true }).click()
      await page.getByText('Nothing matches.').waitFor()
      await page.getByRole('button', { name: 'Pending', exact: true }).click()
      await row.first().waitFor()
      if (width === 390) await page.getByRole('button', { name: /^Filters/ }).click()
      await page.getByLabel('Created', { exact: true }).selectOption({ label: 'Yesterday' })
      if (width === 390) await page.getByRole('button', { name: 'Done' }).click()
      await page.getByText('Nothing matches.').waitFor()
      t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
      t.strictSame(complaints, [])
    }
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
    const operator = await openConsole(t, browser, server.url, path, { key: server.key, width: 390 })
    await assertStill(t, page, 'a subscription')
    await assertStill(t, operator.page, 'a subscription with the clock, 390 pixels wide')
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await confirm(page, 'Cancel')
    await line.filter({ hasText: 'Ends' }).waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await confirm(page, 'Resume')
    await line.filter({ hasText: 'Renews' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Metadata').fill('{"team":"blue"}')
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'PUT'),
      confirm(page, 'Edit'),
    ])
    t.strictSame(sent.postDataJSON(), { metadata: { team: 'blue' } }, 'without the items')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
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
