// The console in a real browser: it shows, creates, changes and deletes what the API allows, and its pages
// are accessible, keep the Content-Security-Policy and log no errors.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { operationTable } from '../../../generated/client/operations.js'
import model from '../../../generated/console/model.json' with { type: 'json' }
import { packTable } from '../../../scripts/generate/console-pack.ts'
import { createApiKey } from '../../../test/support/database/db-fixtures.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import {
  assertAccessible,
  openConsole,
  type Opened,
  type OpenOptions,
} from '../../../test/support/browser/console-browser.ts'
import { isLongForm } from '../../../test/support/long-form.ts'
import { newEmail, password, setPassword } from '../../../test/support/operations/operation-fixtures-auth.ts'
import { startServer } from '../../../test/support/server/server.ts'

/** Compressed, of what a browser loads before it shows the first page. */
const maxFirstBytes = 60_000
/** Compressed, with the parts that are loaded when they are needed, without the help texts of forms. */
const maxBytes = 109_500

/** In the short form, axe sees these alone on a narrow and dark screen: one page of each kind. */
const narrowPages = [
  '',
  '/projects',
  '/user/profile',
  '/user/avatar',
  '/users',
  '/storage/files',
  '/payments/orders',
  '/payments/test-clock',
  '/events',
]

const pathOf = (operation: string): string => operationTable[operation as keyof typeof operationTable].path

t.test('the scripts and the style sheet are small', async (t) => {
  const folder = join(import.meta.dirname, '../../../generated/console')
  const bytes = (name: string): number => gzipSync(readFileSync(join(folder, name))).length
  const sum = (names: string[]): number => names.reduce((total, name) => total + bytes(name), 0)
  const first = readFileSync(join(folder, 'main.js'), 'utf8').matchAll(/from"\.\/([^"]+)"/g)
  const firstBytes = sum(['main.js', 'style.css', ...new Set([...first].map(([, name]) => name))])
  t.ok(firstBytes < maxFirstBytes, `${firstBytes} bytes at first`)
  const all = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))
  t.ok(sum(all) < maxBytes, `${sum(all)} bytes in all`)
})

t.test('the small table of operations has the rows of the client', async (t) => {
  const rows = Object.entries<any>(operationTable).map(([id, { list: _, ...row }]): [string, any] => [
    id,
    row,
  ])
  const packed = await import(`data:text/javascript,${encodeURIComponent(packTable(rows))}`)
  t.same(
    packed.operationTable,
    Object.fromEntries(rows.map(([id, row]) => [id, { name: undefined, ...row }])),
  )
})

t.test('every list of the contract has a page, and every page an operation', async (t) => {
  t.ok(model.lists.length > 20)
  for (const { operation, columns } of model.lists) {
    t.ok(operation in operationTable, operation)
    t.ok(columns.length > 0, `${operation} has columns`)
  }
  for (const { operation } of model.details) t.ok(operation in operationTable, operation)
})

t.test('CONSOLE=false serves no console', async (t) => {
  const server = await startServer(t, { env: { CONSOLE: 'false' } })
  t.equal((await fetch(`${server.url}/console`)).status, 404)
  const home = await fetch(server.url, { headers: { accept: 'text/html' }, redirect: 'manual' })
  t.equal(home.headers.get('location'), '/docs')
})

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const person = await server.person()

  const open = async (t: Test, path: string, options: Partial<OpenOptions> = {}): Promise<Opened> =>
    await openConsole(t, browser, server.url, path, { key: person.key, ...options })

  t.test('a person signs in, and the key does not stay in the address', async (t) => {
    const { page, complaints } = await open(t, '', { key: null })
    await page.getByLabel('API key').fill('plat_test_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    t.match(await page.getByRole('alert').textContent(), 'UNAUTHORIZED')
    await assertAccessible(t, page, 'sign-in')
    await page.getByLabel('API key').fill(person.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    const other = await open(t, '/projects')
    await other.page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    t.notMatch(other.page.url(), 'key=')
    t.strictSame([...complaints, ...other.complaints], [])
  })

  t.test('a person signs in with an account, and no script holds what signs in', async (t) => {
    const user = await server.person({ email: newEmail() })
    await setPassword(server, user.id)
    const { page, complaints } = await open(t, '', { key: null })
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.getByLabel('Email address').fill(user.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    t.match(await page.getByRole('banner').first().textContent(), user.email)
    const kept = '[document.cookie, ...Object.values(sessionStorage), ...Object.values(localStorage)].join()'
    t.notMatch(await page.evaluate(kept), /plat_|session/)
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('By cookie')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'By cookie' }).waitFor()
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    t.equal(await server.services.database.prisma.signIn.count({ where: { userId: user.id } }), 0)
    await page.reload()
    await page.getByLabel('API key').waitFor()
    t.strictSame(complaints, [])
  })

  t.test('signing out of a key does not sign in with the session of the browser', async (t) => {
    const user = await server.person({ email: newEmail() })
    await setPassword(server, user.id)
    const { page } = await open(t, '', { key: null })
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.getByLabel('Email address').fill(user.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    t.notOk(
      (await page.context().cookies()).some(({ name }) => name === 'return'),
      'the way back has ended',
    )
    await page.goto(`${server.url}/console/projects#key=${person.key}`)
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    t.equal(await page.getByRole('heading', { name: 'Home' }).count(), 0)
    await page.goto(`${server.url}/console`)
    await page.getByRole('button', { name: `Account: ${user.email}` }).waitFor()
  })

  t.test('a project is created, found, changed, archived and deleted', async (t) => {
    const { page, complaints } = await open(t, '/projects')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create' }).click()
    t.match(await dialog.locator('.error').first().textContent(), 'name', 'the problem stands at its field')
    await assertAccessible(t, page, 'a form with a problem')
    await dialog.getByLabel('Name').fill('Launch of <b>all</b>')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Launch of <b>all</b>' }).waitFor()
    const id = page.url().split('/').at(-1)!
    t.equal((await person.client.get(`/projects/${id}`)).body.name, 'Launch of <b>all</b>')

    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Start')
    await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('heading', { name: 'Start' }).waitFor()
    t.equal((await person.client.get(`/projects/${id}`)).body.name, 'Start')

    await page.getByText('Events', { exact: true }).last().click()
    const events = page.locator('details ul.events li')
    await events.first().waitFor()
    t.match(await events.allTextContents(), [/^project\.updated.*name/, /^project\.created/])

    await page.getByRole('button', { name: 'Archive', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
    await page.locator('.state', { hasText: 'archived' }).waitFor()

    await page.getByRole('heading', { name: 'Members' }).getByRole('link').click()
    await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor()
    t.match(await page.locator('tbody').textContent(), 'owner')
    await page.goBack()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    t.equal((await person.client.get(`/projects/${id}`)).status, 404)
    t.strictSame(complaints, [])
  })

  t.test('a new key is shown once', async (t) => {
    const { page, complaints } = await open(t, '/user/api-keys')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('reporting')
    await page.getByRole('dialog').getByLabel('projects:read').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    const secret = await page.locator('.secret').textContent()
    t.match(secret, /^plat_live_/)
    await assertAccessible(t, page, 'a secret')
    t.strictSame(complaints, [])
    await page.getByRole('button', { name: 'Close' }).click()

    const limited = await open(t, '', { key: secret! })
    await limited.page.getByRole('heading', { name: 'Home' }).waitFor()
    const names = await limited.page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link')
      .allTextContents()
    t.ok(names.includes('Settings'), 'the area of projects')
    t.notOk(names.includes('Files'), 'a page that the key may not see is left out')
    await limited.page.goto(`${server.url}/console/storage/files`)
    t.match(await limited.page.getByRole('alert').textContent(), 'storage:read')
    await limited.page.goto(`${server.url}/console/projects`)
    await limited.page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    t.equal(await limited.page.getByRole('button', { name: 'Create', exact: true }).count(), 0)
  })

  t.test('a key that is limited to a project shows this project and its lists', async (t) => {
    const [own, other] = await Promise.all(
      ['Own', 'Other'].map(async (name) => (await person.client.post('/projects', { name })).body),
    )
    const limited = await person.client.post('/user/api-keys', {
      name: 'limited',
      scopes: ['projects:read', 'projects:write', 'user:read'],
      project_ids: [own.id],
    })
    const { page } = await open(t, '/projects', { key: limited.body.key })
    await page.locator('tbody tr').first().waitFor()
    t.strictSame(await page.locator('tbody tr td.lead').allTextContents(), ['Own'])
    await page.goto(`${server.url}/console/projects/${other.id}`)
    t.match(await page.getByRole('alert').textContent(), 'FORBIDDEN')
    t.notMatch(await page.locator('main').textContent(), 'Other')
  })

  t.test('an expired key leads to the sign-in with the reason', async (t) => {
    const { body } = await person.client.post('/user/api-keys', { name: 'short', scopes: ['projects:read'] })
    await server.services.database.prisma.apiKey.update({
      where: { id: body.id },
      data: { expiresAt: new Date(Date.now() - 1000) },
    })
    const { page } = await open(t, '/projects', { key: body.key })
    t.match(await page.getByRole('alert').textContent(), /expired.*UNAUTHORIZED/)
    await page.getByLabel('API key').fill(person.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
  })

  t.test("another person's project is not shown", async (t) => {
    const { body } = await (await server.person()).client.post('/projects', { name: 'Not yours' })
    const { page } = await open(t, `/projects/${body.id}`)
    t.match(await page.getByRole('alert').textContent(), 'FORBIDDEN')
    t.notMatch(await page.locator('main').textContent(), 'Not yours')
  })

  t.test('a revoked key leads to a clear error, and so does a server that does not answer', async (t) => {
    const spare = await createApiKey(server, person.id)
    const { page } = await open(t, '/projects', { key: spare.secret })
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    await person.client.delete(`/user/api-keys/${spare.id}`)
    await page.getByRole('link', { name: 'Files' }).click()
    t.match(await page.getByRole('alert').textContent(), 'UNAUTHORIZED')

    const other = await open(t, '/projects')
    await other.page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    await other.page.context().setOffline(true)
    await other.page.getByRole('link', { name: 'Files' }).click()
    const again = other.page.getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await other.page.context().setOffline(false)
    await again.click()
    await other.page.locator('.empty, table').waitFor()
  })

  t.test('every page is accessible and fits, light and dark, wide and narrow', async (t) => {
    await person.client.post('/projects', { name: 'One' })
    const pages = [...model.lists, ...model.details]
    const paths = ['', ...model.groups.flatMap(({ pages }) => pages)]
    const { page, complaints } = await open(t, '')
    for (const path of paths) {
      // Without a reload, because a document takes longer to load axe than to show a page.
      await page.evaluate(`history.pushState(null, '', '/console${path}')`)
      await page.evaluate("dispatchEvent(new Event('popstate'))")
      const title = path === '' ? 'Home' : pages.find(({ operation }) => pathOf(operation) === path)!.title
      await page.waitForFunction((title) => {
        const { document } = globalThis as any
        return document.title.startsWith(`${title} ·`) && document.querySelector('.skeleton') === null
      }, title)
      await page.locator('h1, [role=alert]').first().waitFor()
      for (const [width, colorScheme] of [
        [1280, 'light'],
        [390, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        const name = `${path || '/'} at ${width}`
        if (width === 1280 || isLongForm || narrowPages.includes(path)) await assertAccessible(t, page, name)
        const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        t.notOk(wide, `${name} does not scroll sideways`)
      }
    }
    t.strictSame(complaints, [])
  })
})
