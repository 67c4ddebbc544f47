// The request log and the audit log in a browser: why a request was refused, and who changed what.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole, type Opened } from '../../../test/support/browser/console-browser.ts'
import { startServer, type Person } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const open = async (t: Test, { key }: Person, path: string, options: object = {}): Promise<Opened> =>
    await openConsole(t, browser, server.url, path, { key, ...options })
  const owner = await server.person({ name: 'Olga Owner' })
  const viewer = await server.person({ name: 'Victor Viewer' })
  const project = (await owner.client.post('/projects', { name: 'Greenhouse' })).body
  const path = { id: project.id }
  const { id } = await owner.api.addMember({ path, body: { user_id: viewer.id, role: 'viewer' } })
  await viewer.api.acceptInvitation({ path: { ...path, invitation_id: id } })
  const flush = async (): Promise<void> => {
    await server.services.requestRecorder.flush()
    await server.services.auditRecorder.flush()
  }
  const why = async (page: Page, words: string): Promise<void> =>
    await page
      .getByRole('button', { name: `Why was ${words} refused?` })
      .first()
      .click()

  const fits = async (t: Test, page: Page, what: string): Promise<void> => {
    await assertAccessible(t, page, what)
    t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), `${what} fits`)
  }

  t.test('a missing role is explained, with those who can give it', async (t) => {
    t.equal((await viewer.client.put(`/projects/${project.id}`, { name: 'Mine' })).status, 403)
    await flush()
    for (const options of [{}, { width: 390, dark: true }]) {
      const { page, complaints } = await open(t, viewer, '/requests', options)
      await page.getByRole('button', { name: 'Update project', exact: true }).waitFor()
      await fits(t, page, 'requests')
      await why(page, 'Update project')
      const drawer = page.getByRole('dialog', { name: 'Update project' })
      await drawer.getByText('Olga Owner (owner)').waitFor()
      await drawer
        .getByRole('listitem')
        .filter({ hasText: /the role \w+ missing/ })
        .waitFor()
      await fits(t, page, 'a missing role')
      await drawer.getByRole('link', { name: 'Open the members' }).click()
      await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor()
      t.strictSame(complaints, [])
    }
  })

  t.test('so is the role in the project of a resource, and in a path with two IDs', async (t) => {
    const body = { name: 'Seeds', project_id: project.id }
    const base = (await owner.client.post('/ai/knowledge', body)).body
    const members = (await owner.client.get(`/projects/${project.id}/members`)).body.data
    t.equal((await viewer.client.put(`/ai/knowledge/${base.id}`, { name: 'Mine' })).status, 403)
    const member = `/projects/${project.id}/members/${members[0].id}`
    t.equal((await viewer.client.put(member, { role: 'viewer' })).status, 403)
    await flush()
    const { page, complaints } = await open(t, viewer, '/requests')
    for (const words of ['Update knowledge base', 'Update member']) {
      await why(page, words)
      const drawer = page.getByRole('dialog', { name: words })
      await drawer.getByText('Olga Owner (owner)').waitFor()
      const link = drawer.getByRole('link', { name: 'Open the members' })
      t.equal(await link.getAttribute('href'), `/console/projects/${project.id}/members`)
      await page.keyboard.press('Escape')
      await drawer.waitFor({ state: 'detached' })
    }
    t.strictSame(complaints, [])
  })

  t.test('a missing scope, a deleted resource, and a refusal that is not about rights', async (t) => {
    const body = { name: 'Night report', scopes: ['projects:read', 'user:read'] }
    const key = (await owner.client.post('/user/api-keys', body)).body
    const reporter = { ...owner, key: key.key }
    const send = async (method: string, path: string, sent?: object): Promise<number> =>
      (
        await fetch(`${server.url}/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${reporter.key}`, 'content-type': 'application/json' },
          body: sent === undefined ? undefined : JSON.stringify(sent),
        })
      ).status
    t.equal(await send('POST', '/projects', { name: 'New' }), 403)
    t.equal(await send('GET', '/projects?limit=-1'), 400)
    await flush()
    const { page, complaints } = await open(t, owner, '/requests')
    await why(page, 'Create project')
    const drawer = page.getByRole('dialog')
    await drawer.getByText('This operation requires the scope projects:write.').waitFor()
    await drawer.getByRole('link', { name: 'Night report' }).waitFor()
    await fits(t, page, 'a missing scope')
    await drawer.getByRole('link', { name: 'Create a key' }).click()
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await page.goBack()
    await page.getByLabel('Status').selectOption('4xx')
    await page.getByLabel('Time').selectOption('Last hour')
    t.match(new URL(page.url()).searchParams.get('created_after'), /Z$/)
    await page.getByLabel('Action').selectOption('List projects')
    await why(page, 'List projects')
    await page.getByText('The refusal was not about rights.').waitFor()
    const link = page.getByRole('dialog').getByRole('link', { name: 'About this error' })
    t.equal(await link.getAttribute('href'), '/docs/errors#INVALID_REQUEST')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remove Action' }).click()
    await page.getByRole('button', { name: 'Create project', exact: true }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('the audit log says who changed what, and shows the values before and after', async (t) => {
    const named = (await owner.client.post('/projects', { name: 'Orchard' })).body
    await owner.client.put(`/projects/${named.id}`, { name: 'Old orchard' })
    await flush()
    for (const [options, reader] of [
      [{}, owner],
      [{ width: 390, dark: true }, server.admin],
    ] as const) {
      const { page, complaints } = await open(t, reader, '/audit-log', options)
      const row = page.locator('tbody tr', { hasText: 'Updated project' }).first()
      await row.getByText(reader === owner ? 'You' : 'Olga Owner').waitFor()
      t.equal(await row.getByRole('link', { name: 'Old orchard' }).count(), reader === owner ? 1 : 0)
      await fits(t, page, 'the audit log')
      await page.getByRole('button', { name: 'Invited member' }).waitFor()
      t.equal(await page.getByRole('button', { name: 'Added member' }).count(), 0)
      await row.getByRole('button', { name: 'Updated project' }).focus()
      await page.keyboard.press('Enter')
      const drawer = page.getByRole('dialog', { name: 'Updated project' })
      if (reader === owner) {
        t.equal(await drawer.locator('del').textContent(), 'Orchard')
        t.equal(await drawer.locator('ins').textContent(), 'Old orchard')
        await drawer.getByRole('link', { name: 'project.updated' }).waitFor()
      }
      await fits(t, page, 'a change')
      await page.keyboard.press('Escape')
      await drawer.waitFor({ state: 'detached' })
      t.equal(await page.evaluate('document.activeElement.textContent'), 'Updated project')
      t.strictSame(complaints, [])
    }
    const failing = (await open(t, owner, '/audit-log')).page
    await failing.route('**/v1/events?*', (route) => route.fulfill({ status: 400, json: {} }))
    await failing.getByRole('button', { name: 'Updated project' }).first().click()
    await failing.getByRole('dialog').getByRole('alert').waitFor()
    const { page } = await open(t, server.admin, `/audit-log?user_id=${viewer.id}`)
    await page.locator('tbody').getByText('Victor Viewer').first().waitFor()
    t.equal(await page.locator('tbody').getByText('Olga Owner').count(), 0)
    await page.getByLabel('Outcome').selectOption('failed')
    await page.getByText('Nothing is recorded here.').waitFor()
  })
})
