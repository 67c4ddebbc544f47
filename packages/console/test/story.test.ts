// A first day in the console, as one person does it on a narrow and dark screen: a project, a file
// over a broken connection, a knowledge base, an answer with a citation, an order that is paid and refunded,
// a webhook that fails and is delivered again, and a key that is revoked.
// The long form does the same on a wide and light screen.
import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { clickPay, fillCard } from '../../../test/support/browser/payment-page.ts'
import { cards, createCatalog } from '../../../test/support/operations/catalog-fixtures.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { isLongForm } from '../../../test/support/long-form.ts'
import { openReceiver } from '../../../test/support/http/receiver.ts'
import { startWorkingServer } from '../../../test/support/server/working-server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startWorkingServer(t)
  const browser = await launchBrowser(t)
  const catalog = await createCatalog(server)

  for (const [width, dark] of [...(isLongForm ? [[1280, false] as const] : []), [390, true] as const])
    t.test(`a first day, ${width} pixels wide`, async (t) => {
      const person = await server.person()
      const { page, complaints } = await openConsole(t, browser, server.url, '', {
        key: person.key,
        width,
        dark,
      })
      const dialog = page.getByRole('dialog')
      const go = async (path: string): Promise<void> => {
        await page.goto(`${server.url}/console${path}`)
        await page.locator('h1').first().waitFor()
      }
      const act = async (name: string, fields: () => Promise<void> = async () => {}): Promise<void> => {
        await page.getByRole('button', { name, exact: true }).first().click()
        await fields()
        await dialog.getByRole('button', { name, exact: true }).click()
      }
      /** Acts while the network is cut: the form says so and keeps what was typed, and works afterward. */
      const actThroughCut: Act = async (name, fields) => {
        await page.getByRole('button', { name, exact: true }).first().waitFor()
        // The fields of forms are loaded after the first page.
        await page.waitForFunction(() =>
          performance.getEntriesByType('resource').some((entry) => entry.name.includes('form-dialog')),
        )
        await page.context().setOffline(true)
        await act(name, fields)
        await dialog.getByRole('alert').waitFor()
        await page.context().setOffline(false)
        await dialog.getByRole('button', { name, exact: true }).click()
      }
      const done = async (): Promise<void> => await dialog.waitFor({ state: 'detached' })

      await go('/projects')
      await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
      await actThroughCut('Create', async () => await dialog.getByLabel('Name').fill('Handbook'))
      await page.getByRole('heading', { name: 'Handbook' }).waitFor()
      const project = page.url().split('/').at(-1)!

      await go(`/storage/files?project_id=${project}`)
      let cut = false
      await page.route('**/storage/uploads/*', async (route) => {
        if (cut || route.request().method() !== 'PATCH') return await route.continue()
        cut = true
        await route.abort('connectionreset')
      })
      const text = 'The office opens at nine. It closes at five.'
      await page
        .getByLabel('Upload files')
        .setInputFiles({ name: 'hours.txt', mimeType: 'text/plain', buffer: Buffer.from(text) })
      await page.locator('tbody').getByText('hours.txt').waitFor()
      t.ok(cut)
      const file = (await person.client.get(`/storage/files?project_id=${project}`)).body.data[0]
      t.match(file, { name: 'hours.txt', bytes: text.length })

      await go('/ai/knowledge')
      await act('Create', async () => {
        await dialog.getByLabel('Name').fill('Office')
        await dialog.getByLabel('Project ID').fill(project)
      })
      await done()
      await page.getByRole('heading', { name: 'Office' }).waitFor()
      const base = page.url().split('/').at(-1)!
      await person.client.post(`/ai/knowledge/${base}/documents`, { file_id: file.id })
      await page.reload()
      await page.locator('tbody .state', { hasText: 'ready' }).waitFor()

      await go('/ai/sessions')
      await act('Create', async () => {
        await dialog.getByLabel('Model').fill('extractive-1')
        await dialog.getByRole('checkbox', { name: 'Office' }).check()
        await dialog.getByLabel('Project ID').fill(project)
      })
      await done()
      await page.getByLabel('Message', { exact: true }).fill('When does the office open?')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('list', { name: 'Sources' }).getByRole('button').first().click()
      t.match(await page.locator('.panel mark').textContent(), 'The office opens at nine.')
      await assertAccessible(t, page, 'a source')
      await page.getByRole('button', { name: 'Close the source' }).click()

      const order = await buy(page, server.url, go, actThroughCut, catalog.price)
      const operator = await openConsole(t, browser, server.url, `/payments/orders/${order}`, {
        key: server.key,
        width,
        dark,
      })
      await operator.page.getByRole('button', { name: 'Refund', exact: true }).click()
      await operator.page
        .getByRole('dialog')
        .getByRole('button', { name: /^Refund/ })
        .click()
      await operator.page.locator('.state', { hasText: 'refunded' }).first().waitFor()
      await go(`/payments/orders/${order}`)
      await page.locator('.state', { hasText: 'refunded' }).first().waitFor()

      const receiver = await openReceiver(t, { answer: { status: 500, body: 'closed' } })
      await go('/webhooks/endpoints')
      await act('Create', async () => {
        await dialog.getByLabel('URL', { exact: true }).fill(receiver.url)
        await dialog.getByLabel('profile.updated').check()
      })
      receiver.secret = (await page.locator('.secret').textContent())!
      await page.getByRole('button', { name: 'Close' }).click()
      await act('Send a test event')
      await page.getByRole('link', { name: 'webhook_endpoint.tested' }).first().click()
      await page.getByText('The endpoint answered 500.').first().waitFor()
      receiver.answer = {}
      await actThroughCut('Redeliver')
      await page.locator('dd .state', { hasText: 'succeeded' }).waitFor()
      t.ok(receiver.received.every(({ verified }) => verified))

      await go('/user/api-keys')
      await act('Create', async () => {
        await dialog.getByLabel('Name').fill('old laptop')
        await dialog.getByLabel('projects:read').check()
      })
      const secret = await page.locator('.secret').textContent()
      await page.getByRole('button', { name: 'Close' }).click()
      await actThroughCut('Revoke')
      await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
      const headers = { authorization: `Bearer ${secret}` }
      t.equal((await fetch(`${server.url}/v1/projects`, { headers })).status, 401)

      await go('')
      await page.getByRole('link', { name: 'Latest events' }).waitFor()
      t.equal(await page.getByRole('heading', { name: 'First steps' }).count(), 0, 'all are done')
      const cuts = /ERR_(INTERNET_DISCONNECTED|CONNECTION_RESET)/
      t.strictSame(
        [...complaints, ...operator.complaints].filter((complaint) => !cuts.test(complaint)),
        [],
      )
    })
})

type Go = (path: string) => Promise<void>
type Act = (name: string, fields?: () => Promise<void>) => Promise<void>

/** Makes an order and pays it on the page of its checkout. @returns its id. */
async function buy(page: Page, url: string, go: Go, act: Act, price: string): Promise<string> {
  const dialog = page.getByRole('dialog')
  await go('/payments/orders')
  await act('Create', async () => {
    await dialog.getByLabel('Price ID').fill(price)
    await dialog.getByLabel('Quantity').fill('1')
  })
  await page.locator('.state', { hasText: 'pending' }).first().waitFor()
  const order = page.url().split('/').at(-1)!
  await go(`/payments/checkout?order_id=${order}`)
  await act('Create', async () => {
    await dialog.getByLabel('Success URL').fill(`${url}/docs`)
    await dialog.getByLabel('Cancel URL').fill(`${url}/docs`)
  })
  const [paying] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('link', { name: /\/pay\// }).click(),
  ])
  await fillCard(paying, cards.succeeds)
  await clickPay(paying)
  await page.locator('dd .state', { hasText: 'complete' }).waitFor()
  // Chromium renders a page behind another one only once per second.
  await paying.close()
  return order
}
