// The page of files in a real browser: the tree, the list and the grid, the selection and its actions, names
// that are edited in place, and what the role allows.
import t from 'tap'
import { createFile, randomImage } from '../../../test/support/database/db-fixtures.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const person = await server.person()
  const { client } = person
  const placeOf = async (id: string): Promise<string> => {
    const { status, body } = await client.get(`/storage/files/${id}`)
    return status === 200 ? `${body.path}/${body.name}` : String(status)
  }

  t.test('a folder is created, opened and renamed in place', async (t) => {
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByRole('button', { name: 'New folder' }).click()
    await page.getByLabel('Name of the new folder').fill('reports')
    await page.keyboard.press('Enter')
    await page.getByLabel('Select reports').check()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByLabel('Name of reports').fill('Reports 2026')
    await page.keyboard.press('Enter')
    const tree = page.getByRole('navigation', { name: 'Folders' })
    await tree.getByRole('link', { name: 'Reports 2026' }).waitFor()
    const link = page.locator('tbody').getByRole('link', { name: 'Reports 2026' })
    await link.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Reports 2026', level: 1 }).waitFor()
    const file = { name: 'q1.txt', mimeType: 'text/plain', buffer: Buffer.from('First quarter') }
    await page.getByLabel('Upload files').setInputFiles(file)
    await page.getByRole('cell', { name: 'q1.txt' }).first().waitFor()
    t.match((await client.get('/storage/files')).body.data, [{ name: 'q1.txt', path: 'Reports 2026' }])
    await page.goBack()
    await page.getByRole('heading', { name: 'My files', level: 1 }).waitFor()
    await page.goForward()
    await page.getByRole('heading', { name: 'Reports 2026', level: 1 }).waitFor()
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'My files' }).click()
    await page.getByRole('heading', { name: 'My files', level: 1 }).waitFor()
    await assertAccessible(t, page, 'a folder')
    t.strictSame(complaints, [])
  })

  t.test('a page that failed is loaded again by a click alone', async (t) => {
    const reader = await server.person()
    await createFile(server, reader.id, { name: 'first.txt' })
    const { page } = await openConsole(t, browser, server.url, '', reader)
    let isFailing = true
    let sent = 0
    await page.route('**/v1/storage/items?*', async (route) => {
      if (!route.request().url().includes('cursor=')) {
        const response = await route.fetch()
        const json = await response.json()
        return await route.fulfill({ response, json: { ...json, pagination: { next_cursor: 'second' } } })
      }
      sent += 1
      if (isFailing) return await route.fulfill({ status: 400, json: {} })
      await route.fulfill({ json: { data: [], pagination: { next_cursor: null } } })
    })
    await page.goto(`${server.url}/console/storage/files`)
    await page.getByRole('alert').waitFor()
    await page.waitForLoadState('networkidle')
    t.equal(sent, 1)
    isFailing = false
    const more = page.getByRole('button', { name: 'Load more' })
    await more.click()
    await more.waitFor({ state: 'detached' })
    t.equal(sent, 2)
  })

  t.test('a name that is taken is said at the field, and Escape keeps the name', async (t) => {
    await createFile(server, person.id, { name: 'one.txt' })
    await createFile(server, person.id, { name: 'two.txt' })
    const { page } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByRole('link', { name: 'one.txt' }).focus()
    await page.keyboard.press('F2')
    await page.getByLabel('Name of one.txt').fill('two.txt')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    t.match(await page.getByRole('alert').textContent(), /two\.txt/)
    await assertAccessible(t, page, 'a name that is taken')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'one.txt' }).waitFor()
    for (const name of ['one.txt', 'two.txt']) await page.getByLabel(`Select ${name}`).check()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('Moved 2 items to the trash').waitFor()
  })

  t.test('items are moved by drag and by the dialog, and deleted with an undo', async (t) => {
    const a = await createFile(server, person.id, { name: 'a.txt' })
    const b = await createFile(server, person.id, { name: 'b.txt' })
    const c = await createFile(server, person.id, { name: 'c.txt' })
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
    await row('a.txt').dragTo(row('Reports 2026'))
    await waitUntil(async () => (await placeOf(a)) === 'Reports 2026/a.txt', 'the dragged file')
    const tree = page.getByRole('navigation', { name: 'Folders' })
    await row('c.txt').dragTo(tree.getByRole('link', { name: 'Reports 2026' }))
    await waitUntil(async () => (await placeOf(c)) === 'Reports 2026/c.txt', 'the file dragged onto the tree')
    await page.getByLabel('Select b.txt').check()
    await page.getByRole('button', { name: 'Move to…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Move b.txt' })
    await dialog.getByRole('button', { name: 'Reports 2026', exact: true }).click()
    await assertAccessible(t, page, 'the dialog')
    await dialog.getByRole('button', { name: 'Move here' }).click()
    await waitUntil(async () => (await placeOf(b)) === 'Reports 2026/b.txt', 'the moved file')
    await page.getByText('Moved b.txt').waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await waitUntil(async () => (await placeOf(b)) === '/b.txt', 'the move to be undone')

    await page.locator('tbody').getByRole('link', { name: 'Reports 2026' }).click()
    await page.getByLabel('Select a.txt').check()
    await page.getByLabel('Select q1.txt').click({ modifiers: ['Shift'] })
    await page.getByText('3 selected').waitFor()
    await page.keyboard.press('Delete')
    await waitUntil(async () => (await placeOf(a)) === '404', 'the files to be in the trash')
    await page.getByText('There are no files yet.').waitFor()
    await assertAccessible(t, page, 'an empty folder and a message')
    await page.locator('.toast', { hasText: 'Moved 3 items to the trash' }).getByText('Undo').click()
    await page.getByRole('link', { name: 'q1.txt' }).waitFor()
    t.equal(await placeOf(a), 'Reports 2026/a.txt')
    t.strictSame(complaints, [])
  })

  t.test('the keyboard walks, selects and opens', async (t) => {
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.locator('tbody').getByRole('link', { name: 'Reports 2026' }).waitFor()
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent')
    await page.keyboard.press('j')
    t.match(await focused(), 'Reports 2026')
    await page.keyboard.press('j')
    t.match(await focused(), 'b.txt')
    await page.keyboard.press('x')
    t.ok(await page.getByLabel('Select b.txt').isChecked())
    await page.keyboard.press('k')
    await page.keyboard.press('Space')
    await page.getByText('2 selected').waitFor()
    await page.keyboard.press('Escape')
    t.equal(await page.getByText('2 selected').count(), 0)
    await page.keyboard.press('Control+a')
    await page.getByText('2 selected').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const panel = page.getByRole('complementary', { name: 'Details' })
    await panel.getByRole('heading', { name: 'b.txt' }).waitFor()
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    t.match(await focused(), 'b.txt')

    const tree = page.getByRole('navigation', { name: 'Folders' })
    await tree.getByRole('link', { name: 'My files' }).focus()
    await page.keyboard.press('ArrowDown')
    t.match(await focused(), 'Reports 2026')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'q1.txt' }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('a grid shows thumbnails, and is remembered', async (t) => {
    await createFile(server, person.id, { name: 'photo.png', content: await randomImage() })
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByRole('button', { name: 'Grid' }).click()
    t.match(page.url(), /view=grid/)
    await page.locator('.thumbnail img').waitFor()
    await assertAccessible(t, page, 'a grid')
    await page.goto(`${server.url}/console/storage/files`)
    await page.locator('.tiles').waitFor()
    await page.getByLabel('Select photo.png').check()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('Moved photo.png to the trash').waitFor()
    t.strictSame(complaints, [])
  })

  t.test('the tree asks for a folder when it is opened', async (t) => {
    const outer = (await client.post('/storage/folders', { name: 'outer' })).body
    const inner = (await client.post('/storage/folders', { name: 'inner', parent_id: outer.id })).body
    await client.post('/storage/folders', { name: 'leaf', parent_id: inner.id })
    const { page } = await openConsole(t, browser, server.url, '/storage/files', person)
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/storage/folders?')) asked.push(request.url())
    })
    const tree = page.getByRole('navigation', { name: 'Folders' })
    await tree.getByRole('button', { name: 'Folders in outer' }).click()
    await tree.getByRole('link', { name: 'inner' }).waitFor()
    t.ok(
      asked.every((url) => !url.includes(inner.id)),
      'no request for what is closed',
    )
    await page.goto(`${server.url}/console/storage/files?folder_id=${inner.id}`)
    await tree.getByRole('link', { name: 'inner' }).waitFor()
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'outer' }).waitFor()

    await page.goto(`${server.url}/console/storage/files`)
    await page.getByLabel('Select outer').check()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleting outer').waitFor()
    await waitUntil(
      async () => (await client.get(`/storage/folders/${outer.id}`)).status === 404,
      'the folder to be deleted',
    )
    await tree.getByRole('link', { name: 'outer' }).waitFor({ state: 'detached' })
  })

  t.test('long and hostile names are shown as they are', async (t) => {
    const other = await server.person()
    const names = ['<img src=x onerror="document.title=1">.txt', `${'w'.repeat(251)}.txt`, 'חשבונית 12.pdf']
    for (const name of names) await createFile(server, other.id, { name })
    for (const width of [1280, 390]) {
      const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', {
        ...other,
        width,
      })
      for (const name of names) await page.getByRole('link', { name, exact: true }).waitFor()
      t.not(await page.title(), '1')
      t.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
      await page.getByRole('button', { name: `Details of ${names[1]}` }).click()
      await page.getByRole('heading', { name: 'Versions' }).waitFor()
      t.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
      await assertAccessible(t, page, `a long name at ${width} pixels`)
      t.strictSame(complaints, [])
    }
  })

  t.test('more than one page is loaded on scrolling', async (t) => {
    const other = await server.person()
    await Promise.all(
      Array.from({ length: 105 }, (_, i) =>
        other.client.post('/storage/folders', { name: `folder ${String(i).padStart(3, '0')}` }),
      ),
    )
    const { page } = await openConsole(t, browser, server.url, '/storage/files', other)
    await page.locator('tbody').getByRole('link', { name: 'folder 099' }).scrollIntoViewIfNeeded()
    await page.locator('tbody').getByRole('link', { name: 'folder 104' }).waitFor()
  })

  t.test('it fits 390 pixels, with the folders as a drawer, and a search finds', async (t) => {
    for (const dark of [false, true]) {
      const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', {
        ...person,
        width: 390,
        dark,
      })
      await page.locator('tbody').getByRole('link', { name: 'Reports 2026' }).waitFor()
      t.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
      await page.getByLabel('Select b.txt').check()
      await assertAccessible(t, page, 'a selection on a narrow screen')
      await page.getByRole('main').getByText('Folders', { exact: true }).click()
      await assertAccessible(t, page, 'the drawer')
      await page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name: 'Trash' }).click()
      await page.getByRole('heading', { name: 'Trash', level: 1 }).waitFor()
      await page.getByLabel('Search all files').fill('q1')
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'q1.txt' }).waitFor()
      t.match(page.url(), /q=q1/)
      t.strictSame(complaints, [])
    }
  })
})
