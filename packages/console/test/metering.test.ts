// The pages of a meter and of a budget in a real browser: the usage of days as a chart, the use as a bar.
import t from 'tap'
import { createApiKey, createBudget } from '../../../test/support/database/db-fixtures.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, assertStill, openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const { client, id: userId } = server.admin
  const { secret: key } = await createApiKey(server, userId)

  for (const width of [1280, 390]) {
    t.test(`the page of a meter shows the usage of each day, ${width} pixels wide`, async (t) => {
      const meter = (
        await client.post('/payments/meters', {
          key: `calls_${width}`,
          name: 'Calls',
          aggregation: 'sum',
          property: 'calls',
          unit: 'call',
        })
      ).body
      const customer = (await client.post('/payments/customers', { external_id: `crm-${width}` })).body
      const at = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
      const events = [0, 1, 1, 5].map((days, i) => ({
        id: `${width}-${i}`,
        meter: meter.key,
        customer_id: customer.id,
        at: at(days),
        properties: { calls: 1000 * (i + 1) },
      }))
      t.match(await client.post('/payments/usage', { events }), { body: { accepted: 4 } })
      const { page, complaints } = await openConsole(t, browser, server.url, `/payments/meters/${meter.id}`, {
        key,
        width,
      })
      await page.getByRole('heading', { name: 'Last 30 days' }).waitFor()
      await assertStill(t, page, `a meter at ${width}`)
      const chart = page.locator('.charts')
      t.match(await chart.textContent(), /call.*at most 5,000 a day/)
      await assertAccessible(t, page, 'the page of a meter')
      t.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
      t.strictSame(complaints, [])
    })

    t.test(`the page of a budget shows what is used of it, ${width} pixels wide`, async (t) => {
      const budget = await createBudget(server, userId, {
        subject_id: userId,
        subject_type: 'user',
        unit: 'answers',
        amount: '4',
      })
      t.equal((await client.post('/ai/chat', { message: 'What is a budget?' })).status, 200)
      const { page, complaints } = await openConsole(t, browser, server.url, `/payments/budgets/${budget}`, {
        key,
        width,
      })
      await page.getByText('1 of 4').waitFor()
      await assertAccessible(t, page, 'the page of a budget')
      await assertStill(t, page, `a budget at ${width}`)
      t.strictSame(complaints, [])
    })
  }
})
