// The console's lists: what is selected stays, and the search opens their forms.
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)

  t.test('selected rows stay selected while the list is loaded again, unless they are deleted', async (t) => {
    const person = await server.person()
    for (const name of ['One', 'Two', 'Three']) await person.client.post('/ai/knowledge', { name })
    const { page, complaints } = await openConsole(t, browser, server.url, '', { key: person.key })
    let loaded = 0
    await page.route('**/v1/ai/knowledge?*', async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      loaded += 1
      for (const row of body.data) row.status = 'processing'
      await route.fulfill({ response, json: body })
    })
    await page.goto(`${server.url}/console/ai/knowledge`)
    await page.getByLabel('Select One').check()
    await page.getByLabel('Select Two').check()
    const before = loaded
    await page.waitForResponse(() => loaded > before + 1)
    await page.getByText('2 selected').waitFor()
    const refusal = { status: 409, json: { error: { code: 'INVALID_STATE', message: 'In use.' } } }
    let deleted = 0
    await page.route('**/v1/ai/knowledge/kb_*', (route) =>
      route.request().method() === 'DELETE' && ++deleted > 1 ? route.fulfill(refusal) : route.continue(),
    )
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText(/Stopped at/).waitFor()
    await page.getByText('1 selected').waitFor()
    t.equal(await page.locator('tbody tr').count(), 2)
    t.strictSame(complaints, [])
  })

  t.test('the search opens the form of the page that is open, and again', async (t) => {
    const person = await server.person()
    const path = '/ai/knowledge?project_id=*'
    const { page, complaints } = await openConsole(t, browser, server.url, path, { key: person.key })
    const dialog = page.getByRole('dialog', { name: 'Create' })
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    t.equal(await dialog.getByLabel('Project ID').inputValue(), '', 'all projects are none')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    const search = page.getByRole('combobox', { name: 'Search pages' })
    for (let i = 0; i < 2; i++) {
      await page.keyboard.press('Control+k')
      await search.and(page.locator(':focus')).waitFor()
      await page.keyboard.type('create: knowledge')
      await page.keyboard.press('Enter')
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await page.waitForURL((url) => url.search === '')
    }
    t.strictSame(complaints, [])
  })

  t.test('a picker offers the projects that there are, and tries again after a failure', async (t) => {
    const person = await server.person()
    const [kept, deleted] = await Promise.all(
      ['Kept', 'Deleted'].map(async (name) => (await person.client.post('/projects', { name })).body),
    )
    const { page } = await openConsole(t, browser, server.url, '/ai/knowledge', { key: person.key })
    const options = page.locator('#field-project_id-names option')
    const offered = async (count: number): Promise<void> => {
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('dialog').getByLabel('Project ID').focus()
      await options.nth(count - 1).waitFor({ state: 'attached' })
      t.equal(await options.count(), count)
    }
    await offered(2)
    await page.keyboard.press('Escape')
    await person.client.delete(`/projects/${deleted.id}`)
    await offered(1)
    t.equal(await options.getAttribute('value'), kept.id)
  })

  t.test('the search says that it failed, and shows no results of other words', async (t) => {
    const person = await server.person()
    await person.client.post('/projects', { name: 'Quartz' })
    const { page } = await openConsole(t, browser, server.url, '', { key: person.key })
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await page.route('**/v1/projects?*', (route) => route.fulfill({ status: 400, json: {} }))
    await page.keyboard.press('Control+k')
    const search = page.getByRole('combobox', { name: 'Search pages' })
    await search.fill('quartz')
    await page.getByRole('dialog').getByRole('alert').waitFor()
    t.equal(await page.getByText('Nothing is found.').count(), 0)
    await page.unroute('**/v1/projects?*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('option', { name: 'Quartz' }).waitFor()
    await search.fill('quartzx')
    await page.getByText('Nothing is found.').waitFor()
  })
})
