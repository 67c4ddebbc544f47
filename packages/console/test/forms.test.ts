// The console's forms: an update sends what differs from what the form showed.
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { uploadFile } from '../../../test/support/storage/storage.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)

  t.test(
    'the last tag is removed, an unchanged time is not sent, and half a time is a problem',
    async (t) => {
      const person = await server.person()
      const { id } = await uploadFile(person.client)
      const expires = '2096-07-20T20:17:40.123Z'
      await person.client.put(`/storage/files/${id}`, { tags: ['moon'], expires_at: expires })
      const path = `/storage/files/${id}`
      const { page, complaints } = await openConsole(t, browser, server.url, path, { key: person.key })
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog.getByLabel('Tags').fill('')
      const [sent] = await Promise.all([
        page.waitForRequest((request) => request.method() === 'PUT'),
        dialog.getByRole('button', { name: 'Edit' }).click(),
      ])
      t.strictSame(sent.postDataJSON(), { tags: [] })
      await dialog.waitFor({ state: 'detached' })
      t.match((await person.client.get(path)).body, { tags: [], expires_at: expires })

      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog.getByLabel('Expires at').focus()
      await page.keyboard.press('Delete')
      await dialog.getByRole('button', { name: 'Edit' }).click()
      await page.locator('#field-expires_at-error').waitFor()
      t.equal(await dialog.getByLabel('Expires at').getAttribute('aria-invalid'), 'true')
      t.strictSame(complaints, [])
    },
  )

  t.test(
    'an edit does not overwrite what another person has changed since the form was opened',
    async (t) => {
      const person = await server.person()
      const { body: project } = await person.client.post('/projects', { name: 'Before' })
      const path = `/projects/${project.id}`
      const { page } = await openConsole(t, browser, server.url, '', { key: person.key })
      let loaded = 0
      await page.route(`**/v1${path}`, async (route) => {
        if (route.request().method() !== 'GET') return await route.continue()
        const response = await route.fetch()
        loaded += 1
        // The page polls.
        await route.fulfill({ response, json: { ...(await response.json()), status: 'pending' } })
      })
      await page.goto(`${server.url}/console${path}`)
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog.getByLabel('Name').fill('Mine')
      await person.client.put(path, { name: 'Theirs' })
      const before = loaded
      await page.waitForResponse(() => loaded > before + 1)
      await dialog.getByRole('button', { name: 'Edit' }).click()
      t.match(await dialog.getByRole('alert').textContent(), 'PRECONDITION_FAILED')
      await page.keyboard.press('Escape')
      await page.getByRole('heading', { name: 'Theirs' }).waitFor()
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog.getByLabel('Name').fill('Mine')
      await dialog.getByRole('button', { name: 'Edit' }).click()
      await page.getByRole('heading', { name: 'Mine' }).waitFor()
    },
  )

  t.test('a secret is copied on a page without the clipboard of HTTPS', async (t) => {
    const person = await server.person()
    const { page } = await openConsole(t, browser, server.url, '/user/api-keys', { key: person.key })
    await page.evaluate('Object.defineProperty(navigator, "clipboard", { value: undefined })')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('CI')
    await dialog.getByLabel('projects:read').check()
    await dialog.getByRole('button', { name: 'Create' }).click()
    const secret = (await page.locator('.secret').textContent())!
    await dialog.getByRole('button', { name: 'Copy' }).click()
    await dialog.getByText('Copied').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    const search = page.getByRole('combobox', { name: 'Search pages' })
    await search.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Control+v')
    t.equal(await search.inputValue(), secret)
    await page.evaluate('document.execCommand = () => false')
    await page.keyboard.press('Escape')
    await page
      .getByRole('button', { name: /^Copy key_/ })
      .first()
      .click()
    await page.getByTitle('Not copied').waitFor()
  })
})
