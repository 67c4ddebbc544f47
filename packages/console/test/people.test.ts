// Members, invitations and keys in the console, as two people use it.
import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)

  async function confirm(page: Page, name: string): Promise<void> {
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  t.test('a person is invited, accepts, gets another role, and is removed', async (t) => {
    const owner = await server.person()
    const guest = await server.person({ name: 'Grace Hopper', email: 'grace@example.com' })
    const { body: project } = await owner.client.post('/projects', { name: 'Handbook' })
    const path = `/projects/${project.id}`
    const { page, complaints } = await openConsole(t, browser, server.url, `${path}/members`, owner)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Email').fill(guest.email)
    await dialog.getByLabel(/^Role/).selectOption('viewer')
    await assertAccessible(t, page, 'an invitation')
    await confirm(page, 'Create')
    await page.locator('dd .state', { hasText: 'pending' }).waitFor()
    t.match(page.url(), /\/invitations\/inv_/, 'the invitation')

    const other = await openConsole(t, browser, server.url, '/user/invitations', guest)
    const row = other.page.locator('tbody tr')
    await row.first().waitFor()
    t.match(await row.allTextContents(), [/viewer.*pending.*Handbook/])
    await row.getByRole('link').first().click()
    await other.page.getByRole('button', { name: 'Accept' }).click()
    await confirm(other.page, 'Accept')
    await other.page.locator('dd .state', { hasText: 'accepted' }).waitFor()
    t.equal(await other.page.getByRole('button', { name: 'Decline' }).count(), 0)

    await page.goto(`${server.url}/console${path}/members`)
    await page.getByRole('link', { name: 'Grace Hopper' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel(/^Role/).selectOption('editor')
    await confirm(page, 'Edit')
    await page.locator('dd .state', { hasText: 'editor' }).waitFor()
    await assertAccessible(t, page, 'a member')

    await other.page.goto(`${server.url}/console${path}`)
    await other.page.getByRole('button', { name: 'Edit' }).waitFor()
    await page.getByRole('button', { name: 'Remove' }).click()
    await confirm(page, 'Remove')
    await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor()
    await other.page.reload()
    t.match(await other.page.getByRole('alert').textContent(), 'FORBIDDEN')
    t.strictSame([...complaints, ...other.complaints], [])
  })

  t.test('a colleague gets a role in one project on the page of people', async (t) => {
    const owner = await server.person({ name: 'Ada Lovelace' })
    const guest = await server.person({ name: 'Alan Turing', email: 'alan@example.com' })
    const { body: project } = await owner.client.post('/projects', { name: 'Engine' })
    const { body: folder } = await owner.client.post('/storage/folders', {
      name: 'Plans',
      project_id: project.id,
    })
    const shared = { email: 'grace.h@example.com', role: 'viewer' }
    t.equal((await owner.client.post(`/storage/folders/${folder.id}/shares`, shared)).status, 201)
    const { page, complaints } = await openConsole(t, browser, server.url, '', owner)
    await page.getByRole('link', { name: 'People and access' }).click()
    await page.locator('main').getByRole('link', { name: 'Engine' }).click()
    await page.getByRole('button', { name: 'Invite' }).click()
    const dialog = page.getByRole('dialog', { name: 'Invite to Engine' })
    await dialog.getByLabel('Email address').fill(guest.email)
    t.match(await dialog.getByLabel('Role').textContent(), 'viewer: reads everything')
    await assertAccessible(t, page, 'the form of an invitation')
    await page.keyboard.press('Enter')
    await page.getByText('alan@example.com is invited and must accept.').waitFor()
    const rows = page.locator('.people tbody tr')
    await rows.filter({ hasText: 'Invitation' }).waitFor()
    t.match(await rows.allTextContents(), [
      /Ada Lovelace.*Project/,
      /alan@example\.com.*viewer.*Invitation invited, must accept/,
      /grace\.h@example\.com.*viewer.*Folder Plans/,
    ])

    const { body: invitations } = await guest.client.get('/user/invitations')
    const { id } = invitations.data[0]
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy the link for alan@example.com' }).click()
    await page.getByText('Copied').waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), `${server.url}/invitations/${id}`)
    const accepted = await guest.client.post(`/projects/${project.id}/invitations/${id}/accept`)
    t.ok(accepted.status < 300)
    for (const [width, dark] of [
      [1280, false],
      [390, true],
    ] as const) {
      const other = await openConsole(t, browser, server.url, `/people?project_id=${project.id}`, {
        key: owner.key,
        width,
        dark,
      })
      await other.page.getByLabel('Role of Alan Turing').waitFor()
      await assertAccessible(t, other.page, `people at ${width}`)
      t.notOk(await other.page.evaluate('document.documentElement.scrollWidth > innerWidth'))
      t.strictSame(other.complaints, [])
    }
    await page.reload()
    await page.getByLabel('Role of Alan Turing').selectOption('editor')
    await page.getByText('Alan Turing has another role.').waitFor()
    const { body: members } = await owner.client.get(`/projects/${project.id}/members?role=editor`)
    t.match(members.data, [{ user: { id: guest.id } }])
    await page.getByLabel('Role of Ada Lovelace').selectOption('viewer')
    await page.getByRole('alert').waitFor()
    t.equal(await page.getByLabel('Role of Ada Lovelace').inputValue(), 'owner', 'the last owner stays')
    await page.getByRole('button', { name: 'Remove Alan Turing' }).click()
    await confirm(page, 'Remove')
    await rows.filter({ hasText: 'Alan Turing' }).waitFor({ state: 'detached' })
    t.strictSame(complaints, [])
  })

  t.test('a form does not overwrite a change that another client made meanwhile', async (t) => {
    const owner = await server.person()
    const { body: project } = await owner.client.post('/projects', { name: 'Handbook' })
    const { page } = await openConsole(t, browser, server.url, `/projects/${project.id}`, owner)
    await page.getByRole('button', { name: 'Edit' }).click()
    await owner.client.put(`/projects/${project.id}`, { name: 'By an other hand' })
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('By me')
    await dialog.getByRole('button', { name: 'Edit' }).click()
    t.match(await dialog.getByRole('alert').textContent(), 'PRECONDITION_FAILED')
    t.equal((await owner.client.get(`/projects/${project.id}`)).body.name, 'By an other hand')
  })

  t.test('a key is rotated and revoked', async (t) => {
    const person = await server.person()
    const { body: key } = await person.client.post('/user/api-keys', {
      name: 'deployment',
      scopes: ['projects:read'],
    })
    const statusOf = async (secret: string): Promise<number> =>
      (await fetch(`${server.url}/v1/projects`, { headers: { authorization: `Bearer ${secret}` } })).status
    const path = `/user/api-keys/${key.id}`
    const { page } = await openConsole(t, browser, server.url, path, person)
    await page.getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
    const secret = (await page.locator('.secret').textContent())!
    await page.getByRole('button', { name: 'Close' }).click()
    t.strictSame([await statusOf(key.key), await statusOf(secret)], [401, 200])
    await page.goto(`${server.url}/console/user/api-keys`)
    await page
      .locator('tbody tr', { hasText: secret.slice(0, 14) })
      .getByRole('link')
      .first()
      .click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    t.equal(await statusOf(secret), 401)
  })
})
