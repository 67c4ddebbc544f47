// The page of files in a real browser: the panel with versions, links, shares and upload links; the trash,
// shared folders, roles, names that are taken, ZIPs, and what the server refuses.
import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  createFile,
  createFileVersion,
  createTrashedFile,
} from '../../../test/support/database/db-fixtures.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { team } from '../../../test/support/server/team.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

const text = (name: string, content: string) => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.from(content),
})

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)

  t.test('the versions and links of a file', async (t) => {
    const person = await server.person()
    const id = await createFile(server, person.id, { name: 'plan.txt', content: 'The first plan.' })
    await createFileVersion(server, id, person.id)
    for (const width of [1280, 390]) {
      const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', {
        ...person,
        width,
      })
      await page.getByRole('link', { name: 'plan.txt' }).click()
      const panel = page.getByRole('complementary', { name: 'Details' })
      await panel.getByRole('button', { name: 'Restore version' }).first().waitFor()
      await assertAccessible(t, page, `the panel at ${width} pixels`)
      t.match(page.url(), new RegExp(`item=${id}`))
      await page.goBack()
      await panel.waitFor({ state: 'detached' })
      t.strictSame(complaints, [])
    }
    const { page, complaints } = await openConsole(
      t,
      browser,
      server.url,
      `/storage/files?item=${id}`,
      person,
    )
    const panel = page.getByRole('complementary', { name: 'Details' })
    await panel.getByRole('button', { name: 'Restore version 1' }).click()
    await panel.getByText('Version 3, current').waitFor()
    await panel.locator('pre.preview', { hasText: 'The first plan.' }).waitFor()
    await panel.getByLabel('Upload a new version').setInputFiles(text('other.txt', 'The third plan.'))
    await panel.getByText('Version 4, current').waitFor()
    await panel.locator('pre.preview', { hasText: 'The third plan.' }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      panel.getByRole('button', { name: 'Download version 3' }).click(),
    ])
    t.equal(readFileSync(await download.path(), 'utf8'), 'The first plan.')
    await panel.getByRole('button', { name: 'Delete version 2' }).click()
    await panel.getByText('Version 2').waitFor({ state: 'detached' })

    const links = panel.getByRole('region', { name: 'Links' })
    await links.getByLabel('Works for').selectOption('1 hour')
    await links.getByLabel('Downloads').fill('2')
    await links.getByRole('button', { name: 'Create a link' }).click()
    const url = (await links.getByRole('button', { name: 'Copy the link' }).textContent())!
    t.equal(await (await fetch(url)).text(), 'The third plan.')
    await assertAccessible(t, page, 'a new link')
    await links.getByRole('button', { name: 'Revoke' }).click()
    await links.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' })
    t.equal((await fetch(url)).status, 410)
    t.strictSame(complaints, [])
  })

  t.test('a folder is shared, and the person works in it', async (t) => {
    const [owner, guest] = [await server.person(), await server.person()]
    const folder = (await owner.client.post('/storage/folders', { name: 'Ours' })).body
    await createFile(server, owner.id, { name: 'rules.txt', path: 'Ours' })
    const other = { email: 'other@example.com', role: 'viewer', expires_at: '2096-07-20T20:17:40.000Z' }
    await owner.client.post(`/storage/folders/${folder.id}/shares`, other)
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', owner)
    await page.getByRole('button', { name: 'Details of Ours' }).click()
    const shares = page.getByRole('region', { name: 'Shared with' })
    await shares.getByLabel('E-mail address').fill(guest.email)
    await shares.getByRole('button', { name: 'Share', exact: true }).click()
    await shares.getByText(guest.email).waitFor()

    const theirs = await openConsole(t, browser, server.url, '/storage/files?place=shared', guest)
    await theirs.page.getByRole('link', { name: 'Ours' }).click()
    await theirs.page.getByRole('link', { name: 'rules.txt' }).waitFor()
    await theirs.page.getByLabel('Select rules.txt').check()
    await theirs.page.getByRole('button', { name: 'Download', exact: true }).waitFor()
    for (const name of ['Delete', 'Rename', 'Move to…', 'Tags'])
      t.equal(await theirs.page.getByRole('button', { name, exact: true }).count(), 0, `no ${name}`)

    for (const email of [guest.email, other.email]) {
      await shares.getByLabel(`What ${email} may do`).selectOption('edit')
      await waitUntil(async () => {
        const { data } = (await owner.client.get(`/storage/folders/${folder.id}/shares`)).body
        const share = data.find((each: any) => each.email === email)
        return (
          share?.role === 'editor' && share.expires_at === (email === other.email ? other.expires_at : null)
        )
      }, `the other role of ${email}`)
    }
    await theirs.page.reload()
    await theirs.page.getByLabel('Upload files').setInputFiles(text('mine.txt', 'From the guest.'))
    await theirs.page.getByRole('link', { name: 'mine.txt' }).first().waitFor()
    await theirs.page.getByLabel('Select rules.txt').check()
    await theirs.page.getByRole('button', { name: 'Delete', exact: true }).click()
    await theirs.page.getByText('Moved rules.txt to the trash').waitFor()
    await assertAccessible(t, theirs.page, 'a shared folder')
    t.match((await owner.client.get('/storage/files')).body.data, [{ name: 'mine.txt', path: 'Ours' }])

    for (const email of [other.email, guest.email])
      await shares.getByRole('button', { name: `Stop sharing with ${email}` }).click()
    await shares.getByText('Nobody yet.').waitFor()
    await theirs.page.goto(`${server.url}/console/storage/files?place=shared`)
    await theirs.page.getByText('Nobody has shared a folder with you.').waitFor()

    const uploads = page.getByRole('region', { name: 'Upload links' })
    await uploads.getByLabel('Files').fill('1')
    await uploads.getByRole('button', { name: 'Create an upload link' }).click()
    const url = (await uploads.getByRole('button', { name: 'Copy the link' }).textContent())!
    t.equal((await fetch(url)).status, 200)
    await uploads.getByText('0 of 1 files').waitFor()
    await assertAccessible(t, page, 'the panel of a folder')
    await uploads.getByRole('button', { name: 'Revoke the upload link' }).click()
    await uploads.getByText('0 of 1 files').waitFor({ state: 'detached' })
    t.equal((await fetch(url)).status, 410)
    t.strictSame([...complaints, ...theirs.complaints], [])
  })

  t.test('the trash: restored, deleted, emptied', async (t) => {
    const person = await server.person()
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await createTrashedFile(server, person.id, { name })
    const { page, complaints } = await openConsole(
      t,
      browser,
      server.url,
      '/storage/files?place=trash',
      person,
    )
    await page.getByLabel('Select a.txt').check()
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByText('Restored a.txt').waitFor()
    await page.getByLabel('Select b.txt').check()
    await page.getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByText('Deleted b.txt permanently').waitFor()
    await page.getByRole('link', { name: 'c.txt' }).waitFor()
    await assertAccessible(t, page, 'the trash')
    await page.getByRole('button', { name: 'Empty the trash' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all permanently' }).click()
    await page.getByText('Emptying the trash').waitFor()
    t.match((await person.client.get('/jobs')).body.data, [{ type: 'trash_empty' }])
    t.match((await person.client.get('/storage/files')).body.data, [{ name: 'a.txt' }])
    t.strictSame(complaints, [])
  })

  t.test('a project, its roles, and a member who only reads', async (t) => {
    const { project, editor, viewer } = await team(server)
    await createFile(server, editor.id, { name: 'team.txt', projectId: project.id })
    const { page } = await openConsole(t, browser, server.url, '/storage/files', editor)
    await page.getByRole('button', { name: 'Project or organization' }).click()
    await page.getByRole('link', { name: 'team', exact: true }).click()
    await page.getByRole('link', { name: 'team.txt' }).waitFor()
    await page.getByLabel('Upload files').setInputFiles(text('new.txt', 'For the team'))
    await page.locator('tbody').getByRole('link', { name: 'new.txt' }).waitFor()
    const path = `/storage/files?project_id=${project.id}`
    const reading = await openConsole(t, browser, server.url, path, viewer)
    await reading.page.getByLabel('Select team.txt').check()
    await reading.page.getByRole('button', { name: 'Download', exact: true }).waitFor()
    await reading.page.getByRole('heading', { name: 'team', level: 1 }).waitFor()
    for (const name of ['Delete', 'Rename', 'Move to…', 'Tags', 'New folder'])
      t.equal(await reading.page.getByRole('button', { name, exact: true }).count(), 0, `no ${name}`)
    t.equal(await reading.page.getByLabel('Upload files').count(), 0)
  })

  t.test('a name that is taken: both are kept, or a version is added', async (t) => {
    const person = await server.person()
    const id = await createFile(server, person.id, { name: 'plan.txt', content: 'Old' })
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    const taken = page.getByText('name is taken')
    await page.getByLabel('Upload files').setInputFiles(text('plan.txt', 'New'))
    await taken.waitFor()
    await assertAccessible(t, page, 'a name that is taken')
    // The corner stays on other pages.
    await page.getByRole('link', { name: 'Home' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await page.getByRole('button', { name: 'Replace plan.txt' }).click()
    await page.getByText('1 of 1 uploaded').waitFor()
    t.match((await person.client.get(`/storage/files/${id}`)).body, { bytes: 3, content_version: 2 })
    await page.goBack()
    await page.getByLabel('Upload files').setInputFiles(text('plan.txt', 'Newer'))
    await page.getByRole('button', { name: 'Keep both plan.txt' }).click()
    await page.locator('tbody').getByRole('link', { name: 'plan (2).txt' }).waitFor()
    // It goes when everything is done.
    await page.getByRole('link', { name: 'Home' }).click()
    await page.getByRole('complementary', { name: 'Activity' }).waitFor({ state: 'hidden' })
    t.strictSame(complaints, [])
  })

  t.test('several files are one ZIP, and get tags', async (t) => {
    const person = await server.person()
    for (const name of ['a.txt', 'b.txt']) await createFile(server, person.id, { name })
    const { page, complaints } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByLabel('Select all').check()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as ZIP' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'files.zip')
    t.equal(
      readFileSync(await download.path())
        .subarray(0, 2)
        .toString(),
      'PK',
    )
    await page.getByRole('button', { name: 'Tags' }).click()
    await page.getByLabel('Tags, with commas between them').fill('q4, draft')
    await page.keyboard.press('Enter')
    await waitUntil(async () => {
      const { data } = (await person.client.get('/storage/files?tag=draft')).body
      return data.length === 2
    }, 'both files to have the tags')
    t.strictSame(complaints, [])
  })

  t.test('what the server refuses is said for its file', async (t) => {
    const person = await server.person()
    for (const name of ['a.txt', 'b.txt']) await createFile(server, person.id, { name })
    const { page } = await openConsole(t, browser, server.url, '/storage/files', person)
    await page.getByLabel('Select a.txt').check()
    await page.getByLabel('Select b.txt').check()
    await page.route('**/storage/batch', async (route) => {
      const answer = await route.fetch()
      const { data } = await answer.json()
      const error = { code: 'CONFLICT', message: 'The file is locked.', details: {} }
      await route.fulfill({ response: answer, json: { data: [{ ...data[0], status: 409, error }, data[1]] } })
    })
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const alert = page.getByRole('alert')
    await alert.waitFor()
    t.match(await alert.textContent(), /One item was not changed:.*\.txt: The file is locked\./)
    await assertAccessible(t, page, 'a refused file')
    await alert.getByRole('button', { name: 'Dismiss' }).click()
    t.equal(await alert.count(), 0)

    for (const [status, code] of [
      [403, 'FORBIDDEN'],
      [429, 'RATE_LIMITED'],
    ] as const) {
      await page.route('**/storage/items**', async (route) => {
        const error = { code, message: `Refused with ${status}.`, details: {}, request_id: 'req_1' }
        await route.fulfill({ status, headers: { 'retry-after': '0' }, json: { error } })
      })
      await page.goto(`${server.url}/console/storage/files`)
      await page.getByText(`Refused with ${status}.`).waitFor()
      await page.unroute('**/storage/items**')
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('Refused').waitFor({ state: 'detached' })
    }
    await page.goto(`${server.url}/console/storage/files?folder_id=fld_01jd6y8m5qe8btc4y5w1r0n3fz`)
    t.match(await page.getByRole('alert').first().textContent(), 'NOT_FOUND')
  })
})
