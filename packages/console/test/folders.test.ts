// The folders of files in a real browser: created, opened, renamed in place, moved by drag and by the dialog,
// and deleted.
import t from 'tap'
import { createFile } from '../../../test/support/database/db-fixtures.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const person = await server.person()
  const { client } = person
  const fileAt = async (id: string): Promise<string> => {
    const { status, body } = await client.get(`/storage/files/${id}`)
    return status === 200 ? `${body.path}/${body.name}` : String(status)
  }

  t.test('a folder is created, opened and renamed in place', async (t) => {
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByRole('button', { name: 'New folder' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('reports')
    await dialog.getByRole('button', { name: 'New folder' }).click()
    await page.getByRole('button', { name: 'Rename reports' }).click()
    await page.getByLabel('Name of reports').fill('Reports 2026')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Reports 2026/' }).click()
    await page.getByRole('heading', { name: 'Reports 2026', level: 1 }).waitFor()
    const file = { name: 'q1.txt', mimeType: 'text/plain', buffer: Buffer.from('First quarter') }
    await page.getByLabel('Upload files').setInputFiles(file)
    await page.getByRole('cell', { name: 'q1.txt' }).first().waitFor()
    const { data } = (await client.get('/storage/files')).body
    t.match(data, [{ name: 'q1.txt', path: 'Reports 2026' }])
    await page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name: 'All files' }).click()
    await page.getByRole('heading', { name: 'Files', level: 1 }).waitFor()
    await assertAccessible(t, page, 'a folder')
    t.strictSame(complaints, [])
  })

  t.test('items are moved by drag and by the dialog, and deleted together', async (t) => {
    const a = await createFile(server, person.id, { name: 'a.txt' })
    const b = await createFile(server, person.id, { name: 'b.txt' })
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
    await row('a.txt').dragTo(row('Reports 2026/'))
    await waitUntil(async () => (await fileAt(a)) === 'Reports 2026/a.txt', 'the dragged file')
    await page.getByLabel('Select b.txt').check()
    await page.getByRole('button', { name: 'Move 1' }).click()
    await page.getByRole('dialog').getByLabel('Folder').selectOption('Reports 2026')
    await assertAccessible(t, page, 'the dialog')
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
    await waitUntil(async () => (await fileAt(b)) === 'Reports 2026/b.txt', 'the moved file')
    await page.getByRole('link', { name: 'Reports 2026/' }).click()
    for (const name of ['a.txt', 'b.txt']) await page.getByLabel(`Select ${name}`).check()
    await page.getByRole('button', { name: 'Delete 2' }).click()
    await waitUntil(
      async () => (await fileAt(a)) === '404' && (await fileAt(b)) === '404',
      'both are deleted',
    )
    const { data } = (await client.get('/storage/trash')).body
    t.strictSame(data.map(({ name }: { name: string }) => name).sort(), ['a.txt', 'b.txt'])
    t.strictSame(complaints, [])
  })

  t.test('it fits 390 pixels, and a search leads to the list', async (t) => {
    const { page } = await openConsole(t, browser, server.url, '/storage/files', { ...person, width: 390 })
    await page.getByRole('link', { name: 'Reports 2026/' }).waitFor()
    t.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    await assertAccessible(t, page, 'a narrow screen')
    await page.getByLabel('Search all files').fill('q1')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'q1.txt' }).waitFor()
    t.match(page.url(), /q=q1/)
  })
})
