// The console's pages of files: uploads that survive a broken connection, folders, previews, links.
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { randomImage } from '../../../test/support/database/db-fixtures.ts'
import { pdf } from '../../../test/support/ai/documents.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

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
    const content = randomBytes(17_000_000)
    const path = join(t.testdir({ 'film.bin': '' }), 'film.bin')
    writeFileSync(path, content)
    await page.getByLabel('Upload files').setInputFiles(path)
    const pause = await page.getByRole('button', { name: 'Pause film.bin' }).elementHandle()
    await page.getByText('uploaded', { exact: true }).waitFor()
    await pause!.evaluate('(button) => button.click()')
    await page.getByText('uploaded', { exact: true }).waitFor()
    t.equal(await page.getByText('paused').count(), 0, 'an upload that is done is not paused')
    t.ok(pieces > 3, `${pieces} requests`)
    const { data } = (await person.client.get('/storage/files')).body
    t.match(data, [
      { name: 'film.bin', bytes: 17_000_000, sha256: createHash('sha256').update(content).digest('hex') },
    ])
    await page.locator('tbody').getByText('film.bin').waitFor()
    await assertAccessible(t, page, 'a finished upload')
    t.strictSame(
      complaints.filter((text) => !text.includes('ERR_CONNECTION_RESET')),
      [],
    )
  })

  t.test('an upload without a network says so, and goes on by itself or by the person', async (t) => {
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
    await page.getByText('uploaded', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Dismiss notes.txt' }).click()
    t.equal(await page.locator('.uploads').count(), 0)

    await page.route('**/storage/uploads', async (route) => await route.abort('connectionrefused'))
    await page.getByLabel('Upload files').setInputFiles({ ...file, name: 'more.txt' })
    await alert.waitFor({ timeout: 120_000 })
    await page.unroute('**/storage/uploads')
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('uploaded', { exact: true }).waitFor()
  })

  t.test('an upload is paused and continued, and resumes after a reload', async (t) => {
    const person = await server.person()
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    const content = randomBytes(9_000_000)
    const path = join(t.testdir({ 'film.bin': '' }), 'film.bin')
    writeFileSync(path, content)
    const starts: string[] = []
    let held = Promise.withResolvers<void>()
    await page.route('**/storage/uploads**', async (route) => {
      const request = route.request()
      if (request.method() === 'POST') starts.push('created')
      const offset = request.headers()['upload-offset']
      if (request.method() === 'PATCH') starts.push(offset)
      if (Number(offset) > 0) await held.promise
      await route.continue().catch(() => {})
    })
    await page.getByLabel('Upload files').setInputFiles(path)
    await page.getByText('8.4 MB of 9 MB, sending').waitFor()
    await page.getByRole('button', { name: 'Pause film.bin' }).click()
    await page.getByText('8.4 MB of 9 MB, paused').waitFor()
    await assertAccessible(t, page, 'a paused upload')
    const { body: usage } = await person.client.get('/storage/usage')
    t.equal(usage.reserved_bytes, 9_000_000)
    await page.getByRole('button', { name: 'Continue film.bin' }).click()
    await page.getByText('sending').waitFor()

    await page.reload()
    await page.getByLabel('Upload files').setInputFiles(path)
    held.resolve()
    held = Promise.withResolvers()
    held.resolve()
    await page.getByText('uploaded', { exact: true }).waitFor()
    t.equal(starts.filter((start) => start === 'created').length, 1, 'one upload')
    t.equal(starts.filter((start) => start === '0').length, 1, `no byte was sent twice: ${starts}`)
    const { data } = (await person.client.get('/storage/files')).body
    t.match(data, [{ name: 'film.bin', sha256: createHash('sha256').update(content).digest('hex') }])
    t.strictSame(complaints, [])
  })

  t.test('dismissing an upload deletes it on the server, and another key starts a new upload', async (t) => {
    const [person, other] = [await server.person(), await server.person()]
    const { page } = await openConsole(t, browser, server.url, '/storage/files', person)
    const path = join(t.testdir({ 'film.bin': '' }), 'film.bin')
    writeFileSync(path, randomBytes(9_000_000))
    const isCut = (offset: string | undefined): boolean => Number(offset) > 0
    await page.route('**/storage/uploads/*', async (route) => {
      if (isCut(route.request().headers()['upload-offset'])) await new Promise(() => {})
      await route.continue()
    })
    await page.getByLabel('Upload files').setInputFiles(path)
    await page.getByText('8.4 MB of 9 MB, sending').waitFor()
    await page.getByLabel('Upload files').setInputFiles(path)
    t.equal(await page.locator('.uploads li').count(), 1, 'the same file is the same upload')
    await page.evaluate(`sessionStorage.setItem('platform-api-key', '${other.key}')`)
    await page.reload()
    await page.unroute('**/storage/uploads/*')
    await page.getByLabel('Upload files').setInputFiles(path)
    await page.getByText('uploaded', { exact: true }).waitFor()
    t.match((await other.client.get('/storage/files')).body.data, [{ name: 'film.bin', bytes: 9_000_000 }])
    t.strictSame((await person.client.get('/storage/files')).body.data, [])

    const third = await server.person()
    const again = await openConsole(t, browser, server.url, '/storage/files', third)
    await again.page.route('**/storage/uploads/*', async (route) => {
      if (isCut(route.request().headers()['upload-offset'])) await new Promise(() => {})
      await route.continue()
    })
    await again.page.getByLabel('Upload files').setInputFiles(path)
    await again.page.getByText('8.4 MB of 9 MB, sending').waitFor()
    await again.page.getByRole('button', { name: 'Pause film.bin' }).click()
    await again.page.getByRole('button', { name: 'Dismiss film.bin' }).click()
    await waitUntil(
      async () => (await third.client.get('/storage/usage')).body.reserved_bytes === 0,
      'the bytes to be free again',
    )
  })

  t.test('a fourth upload is listed while it waits', async (t) => {
    const { page } = await openConsole(t, browser, server.url, '/storage/files', await server.person())
    const gate = Promise.withResolvers<void>()
    await page.route('**/storage/uploads', async (route) => {
      await gate.promise
      await route.continue()
    })
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })
    await page.getByLabel('Upload files').setInputFiles(['a', 'b', 'c'].map(file))
    await page.getByText(', sending').nth(2).waitFor()
    await page.getByLabel('Upload files').setInputFiles(file('d'))
    await page.getByText(', waiting').waitFor()
    gate.resolve()
    await page.getByText('uploaded', { exact: true }).nth(3).waitFor()
  })

  t.test('an error of the browser fails its upload alone, and the next one starts', async (t) => {
    const { page } = await openConsole(t, browser, server.url, '/storage/files', await server.person())
    await page.evaluate(`
      const setItem = Storage.prototype.setItem
      Storage.prototype.setItem = function (key, value) {
        if (key.startsWith('upload ') && !key.endsWith('d'))
          throw new DOMException('full', 'QuotaExceededError')
        setItem.call(this, key, value)
      }`)
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })
    await page.getByLabel('Upload files').setInputFiles(['a', 'b', 'c', 'd'].map(file))
    await page.getByText('uploaded', { exact: true }).waitFor()
    t.strictSame(
      await page.getByRole('alert').locator('p:first-child').allTextContents(),
      Array.from({ length: 3 }, () => 'QuotaExceededError: full'),
    )
  })

  t.test('a dropped folder keeps its folders', async (t) => {
    const person = await server.person()
    const { page } = await openConsole(t, browser, server.url, '/storage/files?path=archive', person)
    await page.getByText('Nothing matches').waitFor()
    const folder = t.testdir({ photos: { 'a.txt': 'a', '2026': { 'b.txt': 'b', empty: {} } } })
    const debug = await page.context().newCDPSession(page)
    const data = { items: [], files: [join(folder, 'photos')], dragOperationsMask: 1 }
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await debug.send('Input.dispatchDragEvent', { type, x: 600, y: 300, data })
    await page.getByText('uploaded', { exact: true }).nth(1).waitFor()
    const files = (await person.client.get('/storage/files')).body.data as any[]
    t.strictSame(files.map(({ path, name }) => `${path}/${name}`).sort(), [
      'archive/photos/2026/b.txt',
      'archive/photos/a.txt',
    ])
    await page.getByRole('link', { name: 'photos' }).click()
    await page.locator('tbody').getByText('a.txt').waitFor()
  })

  t.test('a PDF is shown, and a link to a file is revoked', async (t) => {
    const person = await server.person()
    const form = new FormData()
    form.append('file', new File([new Uint8Array(pdf([['Events are kept.']]))], 'handbook.pdf'))
    const headers = { authorization: `Bearer ${person.key}` }
    const response = await fetch(`${server.url}/v1/storage/upload`, { method: 'POST', headers, body: form })
    const { id } = (await response.json()) as { id: string }
    const { body: link } = await person.client.post(`/storage/files/${id}/links`, {})
    const opened = await openConsole(t, browser, server.url, `/storage/files/${id}`, {
      ...person,
      width: 390,
    })
    const { page, complaints } = opened
    await page.getByTitle('handbook.pdf').waitFor()
    t.match(await page.getByTitle('handbook.pdf').getAttribute('src'), /^blob:/)
    await assertAccessible(t, page, 'a PDF')
    await page.getByRole('link', { name: link.id }).click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('heading', { name: 'Links' }).waitFor()
    t.equal((await fetch(link.url)).status, 410)
    t.strictSame(complaints, [])
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
    await page.locator('tbody').getByRole('link', { name: 'reports' }).click()
    await page.locator('tbody').getByRole('link', { name: '2026' }).click()
    await page.locator('tbody').getByText('two.txt').waitFor()
    t.match(page.url(), /folder_id=fld_/)
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
