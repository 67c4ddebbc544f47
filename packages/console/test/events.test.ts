// The console's pages of events and webhooks.
import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, assertStill, openConsole } from '../../../test/support/browser/console-browser.ts'
import {
  deliveryNow,
  makeEndpoint,
  startWorkingServer,
  triedOnce,
} from '../../../test/support/server/working-server.ts'

/** Does what opens a stream, and waits until the server has answered: what happens from then on is shown. */
async function streamed(page: Page, open: () => Promise<unknown>): Promise<void> {
  const opened = page.waitForResponse((response) => response.url().includes('/events/stream'))
  await open()
  await opened
}

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startWorkingServer(t)
  const browser = await launchBrowser(t)

  t.test('new events appear while they happen, and an event shows what changed', async (t) => {
    const person = await server.person()
    const { page, complaints } = await openConsole(t, browser, server.url, '/events', { key: person.key })
    await page.getByRole('link', { name: 'Watch new events' }).click()
    await streamed(page, () => page.getByLabel('Type').selectOption('project.*'))
    await page.getByText('Waiting for events').waitFor()
    await assertAccessible(t, page, 'the live tail without events')
    const { body: project } = await person.client.post('/projects', { name: 'Before' })
    await person.client.put(`/projects/${project.id}`, { name: 'After' })
    await page.getByRole('link', { name: 'project.updated' }).waitFor()
    t.strictSame(
      await page
        .getByRole('log')
        .getByRole('link', { name: /^project\./ })
        .allTextContents(),
      ['project.updated', 'project.created'],
      'the newest first',
    )
    await assertAccessible(t, page, 'the live tail')

    await page.getByRole('link', { name: 'project.updated' }).click()
    const row = page.getByRole('region', { name: 'Changes' }).locator('tbody tr').first()
    await row.waitFor()
    t.strictSame(await row.getByRole('cell').allTextContents(), ['name', 'Before', 'After'])
    await assertAccessible(t, page, 'an event')
    await page.getByRole('heading', { name: 'Object' }).getByRole('link').click()
    await page.getByRole('heading', { name: 'After', level: 1 }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('the events of different filters are not mixed, and an order of the list is not sent', async (t) => {
    const person = await server.person()
    const path = '/events?live=1&order=asc&organization_id=org_00000000000000000000000000'
    const { page } = await openConsole(t, browser, server.url, '', { key: person.key })
    await streamed(page, () => page.goto(`${server.url}/console${path}`))
    await person.client.post('/projects', { name: 'One' })
    await page.getByRole('link', { name: 'project.created' }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await streamed(page, () => page.getByLabel('Type').selectOption('knowledge_base.*'))
    await page.getByText('Waiting for events').waitFor()
    t.equal(await page.getByRole('link', { name: 'project.created' }).count(), 0)
  })

  t.test('the live tail goes on after the network was cut, without a loss', async (t) => {
    const person = await server.person()
    const { page } = await openConsole(t, browser, server.url, '/events', { key: person.key })
    await streamed(page, () => page.getByRole('link', { name: 'Watch new events' }).click())
    await person.client.post('/projects', { name: 'One' }).then(({ status }) => t.equal(status, 201))
    await page.getByRole('link', { name: 'project.created' }).waitFor()
    await page.context().setOffline(true)
    await person.client.post('/projects', { name: 'Two' })
    await page.context().setOffline(false)
    await page.getByRole('link', { name: 'project.created' }).nth(1).waitFor({ timeout: 90_000 })
    t.equal(await page.getByRole('link', { name: 'project.created' }).count(), 2)
  })

  t.test('a webhook that fails is looked into and delivered again', async (t) => {
    const person = await server.person()
    const endpoint = await makeEndpoint(t, person, {
      event_types: ['profile.updated'],
      answer: { status: 500, body: '<b>no table</b>' },
    })
    const delivery = await triedOnce(person, endpoint)
    const path = `/webhooks/endpoints/${endpoint.id}`
    const { page, complaints } = await openConsole(t, browser, server.url, path, { key: person.key })
    await page.getByRole('link', { name: 'webhook_endpoint.tested' }).click()
    await page.getByRole('heading', { name: 'Attempts' }).waitFor()
    const main = page.locator('main')
    t.match(await main.textContent(), 'The endpoint answered 500.')
    t.match(await main.textContent(), '<b>no table</b>', 'what the endpoint answers is text')
    t.match(await main.textContent(), 'webhook-signature: v1')
    await assertAccessible(t, page, 'a delivery')

    endpoint.receiver.answer = {}
    await page.getByRole('button', { name: 'Redeliver' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Redeliver' }).click()
    await page.locator('dd .state.good', { hasText: 'succeeded' }).waitFor()
    t.ok(endpoint.receiver.received.length >= 2)
    t.equal((await deliveryNow(person, delivery.id)).status, 'succeeded')

    await page.goBack()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.locator('select[name=enabled]').selectOption('No')
    await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('button', { name: 'Send a test event' }).waitFor({ state: 'detached' })
    t.equal(await page.getByRole('button', { name: 'Resend failed deliveries' }).count(), 0)
    t.strictSame(complaints, [])
  })

  t.test("yesterday's failed deliveries are found and sent again until one is refused", async (t) => {
    const person = await server.person()
    const failing = await makeEndpoint(t, person, {
      event_types: ['profile.updated'],
      answer: { status: 500, body: 'no table' },
    })
    const working = await makeEndpoint(t, person, { event_types: ['profile.updated'] })
    await triedOnce(person, failing)
    await triedOnce(person, failing)
    await triedOnce(person, working)
    for (const [width, dark] of [
      [1280, false],
      [390, true],
    ] as const) {
      const { page, complaints } = await openConsole(t, browser, server.url, '', {
        key: person.key,
        width,
        dark,
      })
      await page.clock.setSystemTime(Date.now() + 86_400_000)
      await page.goto(`${server.url}/console/webhooks/deliveries`)
      const rows = page.locator('.deliveries li')
      await rows.nth(2).waitFor()
      await assertAccessible(t, page, `deliveries at ${width}`)
      await assertStill(t, page, `deliveries at ${width}`)
      await page.getByRole('button', { name: 'Failed', exact: true }).click()
      await page.getByRole('button', { name: 'Today' }).click()
      await page.getByText('No delivery matches.').waitFor()
      await page.getByRole('button', { name: 'Yesterday' }).click()
      await rows.nth(1).waitFor()
      t.strictSame(await page.locator('.deliveries .state').allTextContents(), ['retrying', 'retrying'])
      t.equal(new URL(page.url()).searchParams.get('created'), 'yesterday')
      await rows.first().getByRole('button').focus()
      await page.keyboard.press('Enter')
      const drawer = page.getByRole('dialog', { name: 'webhook_endpoint.tested' })
      t.match(await drawer.textContent(), /The endpoint answered 500\..*no table[^]*webhook-signature: v1/)
      await assertAccessible(t, page, `the drawer at ${width}`)
      await page.keyboard.press('Escape')
      await drawer.waitFor({ state: 'detached' })
      const [delivery] = (await person.client.get('/webhooks/deliveries?limit=1')).body.data
      await page.goto(`${server.url}/console/webhooks/deliveries/${delivery.id}`)
      await assertStill(t, page, `a delivery at ${width}`)
      t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
      t.strictSame(complaints, [])
    }

    const { page } = await openConsole(t, browser, server.url, '/webhooks/deliveries?status=failing', person)
    await page.getByLabel('Select all 2 that failed').check()
    const refusal = { status: 409, json: { error: { code: 'INVALID_STATE', message: 'In flight.' } } }
    let isRefused = true
    let sent = 0
    await page.route('**/redeliver', (route) => {
      sent += 1
      return isRefused ? route.fulfill(refusal) : route.continue()
    })
    await page.getByRole('button', { name: 'Resend 2' }).click()
    await page.getByText('Stopped at webhook_endpoint.tested.').waitFor()
    t.match(await page.locator('.selection').textContent(), /0 of 2.*In flight\./)
    t.equal(sent, 1, 'nothing is sent after a refusal')
    isRefused = false
    failing.receiver.answer = {}
    await page.getByRole('button', { name: 'Resend 2' }).click()
    await page.locator('.deliveries .state', { hasText: 'sending' }).first().waitFor()
    await page.getByText('2 of 2').waitFor()
    await page.locator('.deliveries .state.good', { hasText: 'succeeded' }).nth(1).waitFor()
    t.equal(sent, 3)
    await page.getByLabel('Endpoint', { exact: true }).selectOption({ label: working.receiver.url })
    await page.getByText('No delivery matches.').waitFor()
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await page.locator('.deliveries .state', { hasText: 'succeeded' }).waitFor()
    t.equal(await page.locator('.deliveries h2').textContent(), `${working.receiver.url} `)
  })

  t.test('deliveries in a chosen project are loaded again with the endpoints', async (t) => {
    const person = await server.person()
    const endpoint = await makeEndpoint(t, person, { event_types: ['profile.updated'] })
    await triedOnce(person, endpoint)
    const { body: project } = await person.client.post('/projects', { name: 'Chosen' })
    const { page } = await openConsole(t, browser, server.url, '', { key: person.key })
    await page.route('**/webhooks/endpoints?*', (route) => route.fulfill({ status: 400, json: {} }))
    await page.goto(`${server.url}/console/webhooks/deliveries?project_id=${project.id}`)
    await page.getByRole('alert').waitFor()
    await page.unroute('**/webhooks/endpoints?*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.deliveries li').waitFor()
  })

  t.test('a new secret of an endpoint is shown once and signs', async (t) => {
    const person = await server.person()
    const endpoint = await makeEndpoint(t, person, { event_types: ['profile.updated'] })
    const path = `/webhooks/endpoints/${endpoint.id}`
    const { page } = await openConsole(t, browser, server.url, path, { key: person.key })
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByLabel('Overlap seconds').fill('0')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click()
    endpoint.receiver.secret = (await page.locator('.secret').textContent())!
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send a test event' }).click()
    await page.locator('tbody .state.good').waitFor()
    t.equal(endpoint.receiver.received.at(-1)!.verified, true)
    t.notMatch(await page.locator('main').textContent(), endpoint.receiver.secret)
  })

  t.test("another person's delivery is not shown", async (t) => {
    const endpoint = await makeEndpoint(t, await server.person(), { event_types: ['profile.updated'] })
    t.equal(endpoint.id.startsWith('whe_'), true)
    const other = await server.person()
    const path = `/webhooks/endpoints/${endpoint.id}`
    const { page } = await openConsole(t, browser, server.url, path, { key: other.key })
    t.match(await page.getByRole('alert').textContent(), /FORBIDDEN|NOT_FOUND/)
  })
})
