// The console's pages of files: uploads that survive a broken connection, folders, previews, links.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../support/browser.ts'
import { assertAccessible, openConsole } from '../support/console-browser.ts'
import { randomImage } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)

  t.test('an upload resumes after a broken connection', async (t) => {
    const person = await server.person()
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    // The connection breaks after the first piece.
    let pieces = 0
    await page.route('**/storage/uploads/*', async (route) => {
      if (route.request().method() === 'PATCH' && ++pieces === 2) await route.abort('connectionreset')
      else await route.continue()
    })
    const content = randomBytes(20_000_000)
    const file = { name: 'film.bin', mimeType: 'application/octet-stream', buffer: content }
    await page.getByLabel('Upload files').setInputFiles(file)
    await page.getByText('uploaded', { exact: true }).waitFor()
    t.ok(pieces > 3, `${pieces} requests`)
    const { data } = (await person.client.get('/storage/files')).body
    t.match(data, [
      { name: 'film.bin', bytes: 20_000_000, sha256: createHash('sha256').update(content).digest('hex') },
    ])
    await page.locator('tbody').getByText('film.bin').waitFor()
    await assertAccessible(t, page, 'a finished upload')
    t.strictSame(
      complaints.filter((text) => !text.includes('ERR_CONNECTION_RESET')),
      [],
    )
  })

  t.test('an upload without a network says so, and is resumed by the person', async (t) => {
    const person = await server.person()
    const { page } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByText('There are no files yet.').waitFor()
    await page.context().setOffline(true)
    const file = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes.') }
    await page.getByLabel('Upload files').setInputFiles(file)
    const alert = page.getByRole('alert')
    await alert.waitFor({ timeout: 120_000 })
    t.match(await alert.textContent(), 'The server did not answer')
    await assertAccessible(t, page, 'a failed upload')
    await page.context().setOffline(false)
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('uploaded', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Dismiss notes.txt' }).click()
    t.equal(await page.locator('.uploads').count(), 0)
  })

  t.test('dropped files go into the folder that is shown', async (t) => {
    const person = await server.person()
    const { page } = await openConsole(t, browser, server.url, '/storage/files?path=reports/2026', person)
    await page.getByRole('heading', { name: 'Files' }).waitFor()
    await page.evaluate(`
      const data = new DataTransfer()
      data.items.add(new File(['one'], 'one.txt', { type: 'text/plain' }))
      data.items.add(new File(['two'], 'two.txt', { type: 'text/plain' }))
      document.querySelector('.drop').dispatchEvent(
        new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    `)
    await page.getByText('uploaded', { exact: true }).nth(1).waitFor()
    const { data } = (await person.client.get('/storage/files')).body
    t.match(data, [{ path: 'reports/2026' }, { path: 'reports/2026' }])
    const folders = page.getByRole('navigation', { name: 'Folders' })
    await folders.getByRole('link', { name: 'All files' }).click()
    await folders.getByRole('link', { name: 'reports/' }).click()
    await folders.getByRole('link', { name: '2026/' }).click()
    await page.locator('tbody').getByText('two.txt').waitFor()
    t.match(page.url(), /path=reports%2F2026/)
  })

  t.test('images and texts have a preview in which nothing runs', async (t) => {
    const person = await server.person()
    const upload = async (name: string, type: string, content: string | Buffer): Promise<string> => {
      const form = new FormData()
      form.append('file', new File([content as any], name, { type }))
      const headers = { authorization: `Bearer ${person.key}` }
      const response = await fetch(`${server.url}/v1/storage/upload`, { method: 'POST', headers, body: form })
      return ((await response.json()) as { id: string }).id
    }
    const html = await upload('page.html', 'text/html', '<script>document.title = "run"</script><h1>Hi</h1>')
    const image = await upload('photo.png', 'image/png', await randomImage())
    const { page, complaints } = await openConsole(t, browser, server.url, `/storage/files/${html}`, person)
    await page.locator('pre.preview').waitFor()
    t.match(await page.locator('pre.preview').textContent(), '<script>document.title = "run"</script>')
    t.not(await page.title(), 'run')
    await page.goto(`${server.url}/console/storage/files/${image}`)
    const shown = page.locator('img.preview')
    await shown.waitFor()
    await page.waitForFunction(() => {
      const { complete, naturalWidth } = (globalThis as any).document.querySelector('img.preview')
      return complete && naturalWidth > 0
    })
    await assertAccessible(t, page, 'an image')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'photo.png')

    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Max downloads').fill('1')
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    const url = await page.locator('.secret').textContent()
    t.equal((await fetch(url!)).status, 200)
    t.equal((await fetch(url!)).status, 410)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.locator('dd .state', { hasText: 'used up' }).waitFor()
    await page.goto(`${server.url}/console/storage/files/${image}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Files', level: 1 }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test("another person's file is not shown, and a key that only reads uploads nothing", async (t) => {
    const owner = await server.person()
    const form = new FormData()
    form.append('file', new File(['secret words'], 'mine.txt'))
    const headers = { authorization: `Bearer ${owner.key}` }
    const response = await fetch(`${server.url}/v1/storage/upload`, { method: 'POST', headers, body: form })
    const { id } = (await response.json()) as { id: string }
    const reader = await server.person({ scopes: ['storage:read'] })
    const { page } = await openConsole(t, browser, server.url, `/storage/files/${id}`, reader)
    t.match(await page.getByRole('alert').textContent(), /FORBIDDEN|NOT_FOUND/)
    t.notMatch(await page.locator('main').textContent(), 'secret words')
    await page.goto(`${server.url}/console/storage/files`)
    await page.getByText('There are no files yet.').waitFor()
    t.equal(await page.getByLabel('Upload files').count(), 0)
  })
})
