// The frame of the console: areas, the switcher of project and organization, filters as chips, names in place
// of IDs, the keys of lists, and the search of Ctrl-K.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { clientNames } from '../../../scripts/generate/client-names.ts'
import { consoleModel } from '../../../scripts/generate/console-model.ts'
import { operationsOf } from '../../../scripts/generate/model.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import {
  assertAccessible,
  assertStill,
  openConsole,
  type Opened,
} from '../../../test/support/browser/console-browser.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { uploadFile } from '../../../test/support/storage/storage.ts'

t.test('a resource of a copied contract is in the area of its tag', async (t) => {
  const file = join(import.meta.dirname, '../../../generated/openapi.json')
  const document = JSON.parse(readFileSync(file, 'utf8'))
  const copied = {
    ...document.paths['/storage/upload-links'].get,
    operationId: 'listThings',
    tags: ['things'],
  }
  document.paths['/things'] = { get: copied }
  const groupsOf = (): Array<{ title: string; pages: string[] }> => {
    const operations = operationsOf(document)
    return consoleModel(document, operations, clientNames(document, operations)).groups
  }
  t.ok(groupsOf().at(-1)!.pages.includes('/things'), 'without a group it is in an area of its own')
  document['x-tagGroups'].find(({ name }: any) => name === 'Files').tags.push('things')
  t.ok(
    groupsOf()
      .find(({ title }) => title === 'Files')!
      .pages.includes('/things'),
  )
})

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const person = await server.person()
  const { client } = person
  const organization = (await client.post('/organizations', { name: 'Robotics' })).body
  const inside = (await client.post('/projects', { name: 'Arms', organization_id: organization.id })).body
  const own = (await client.post('/projects', { name: 'Garden' })).body
  for (const [title, project_id] of [
    ['Grippers', inside.id],
    ['Roses', own.id],
    ['Tulips', own.id],
  ])
    t.equal((await client.post('/ai/knowledge', { name: title, project_id })).status, 201)

  const open = async (
    t: Test,
    path: string,
    options: { width?: number; dark?: boolean } = {},
  ): Promise<Opened> => await openConsole(t, browser, server.url, path, { key: person.key, ...options })

  t.test('a person chooses the columns of a list and the height of its rows, which stay', async (t) => {
    const { page, complaints } = await open(t, '/projects')
    const table = page.getByRole('table')
    await table.getByText('Garden').waitFor()
    const titles = (): Promise<string[]> => table.getByRole('columnheader').allTextContents()
    const height = async (): Promise<number> =>
      (await table.locator('tbody tr').first().boundingBox())!.height
    const [all, comfortable] = [await titles(), await height()]
    const top = async (text: string): Promise<number> =>
      (await page.getByText(text, { exact: true }).boundingBox())!.y
    t.ok(Math.abs((await top('View')) - (await top('Create'))) <= 1, 'the buttons stand in one line')
    t.ok(all.includes('Status'))
    await page.getByText('View', { exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('checkbox', { name: 'Status' }).uncheck()
    await page.getByRole('checkbox', { name: 'Compact rows' }).check()
    t.same(
      await titles(),
      all.filter((title) => title !== 'Status'),
    )
    t.ok((await height()) < comfortable, 'rows are lower')
    await assertAccessible(t, page, 'the menu of a list')
    await page.keyboard.press('Escape')
    await page.getByRole('checkbox', { name: 'Compact rows' }).waitFor({ state: 'detached' })
    await page.reload()
    await table.getByText('Garden').waitFor()
    t.notOk((await titles()).includes('Status'))
    await page.getByText('View', { exact: true }).click()
    t.ok(await page.getByRole('checkbox', { name: 'Compact rows' }).isChecked())
    await page.getByRole('checkbox', { name: 'Status' }).check()
    t.same(await titles(), all)
    t.same(complaints, [])
  })

  t.test('the switcher chooses a project, which the address has and the lists keep', async (t) => {
    const { page, complaints } = await open(t, '/ai/knowledge')
    await page.getByText(/^There are no knowledge bases/).waitFor()
    const switcher = page.getByRole('button', { name: 'Project or organization' })
    await switcher.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Garden' }).waitFor()
    await assertAccessible(t, page, 'the switcher')
    await page.keyboard.type('arms')
    await page.getByRole('link', { name: 'Garden' }).waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Grippers' }).waitFor()
    t.equal(new URL(page.url()).searchParams.get('project_id'), inside.id)
    t.equal(await page.getByRole('link', { name: 'Roses' }).count(), 0)
    t.match(await switcher.textContent(), 'Arms')
    t.equal(await page.getByLabel('Project ID').count(), 0, 'no field for the ID of a project')

    await page.getByRole('link', { name: 'Grippers' }).click()
    await page.getByRole('heading', { name: 'Grippers', level: 1 }).waitFor()
    await page.locator('dd').getByRole('link', { name: 'Arms' }).waitFor()
    t.equal(new URL(page.url()).searchParams.get('project_id'), inside.id, 'links keep the project')
    await switcher.click()
    await page.getByRole('link', { name: 'Garden' }).click()
    await page.getByRole('link', { name: 'Tulips' }).waitFor()
    t.equal(new URL(page.url()).pathname, '/console/ai/knowledge', 'a resource of another project is left')
    await page.reload()
    await page.getByRole('link', { name: 'Tulips' }).waitFor()
    t.match(await switcher.textContent(), 'Garden', 'also after a reload')

    await switcher.click()
    await page.getByRole('link', { name: 'Robotics' }).click()
    await page.getByRole('link', { name: 'Grippers' }).waitFor()
    t.equal(new URL(page.url()).searchParams.get('organization_id'), organization.id)
    await page.getByRole('link', { name: 'People and access' }).click()
    await page.getByRole('heading', { name: 'People in Robotics', level: 1 }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('references have names, which are loaded once for each kind', async (t) => {
    const { page, complaints } = await open(t, '')
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const visit = async (path: string): Promise<void> => {
      await page.evaluate(`history.pushState(null, '', '/console${path}')`)
      await page.evaluate("dispatchEvent(new Event('popstate'))")
    }
    for (const [{ id, name }, title] of [
      [own, 'Tulips'],
      [inside, 'Grippers'],
    ] as const) {
      await visit(`/ai/knowledge?project_id=${id}`)
      const row = page.locator('tbody tr', { hasText: title })
      await row.getByRole('link', { name }).waitFor()
      t.equal(await row.getByRole('link', { name: /^prj_/ }).count(), 0)
    }
    t.equal(asked.filter((path) => path === '/v1/projects').length, 1)
    const row = page.locator('tbody tr', { hasText: 'Grippers' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await row.getByRole('button', { name: /^Copy kb_/ }).click()
    t.match(await page.evaluate('navigator.clipboard.readText()'), /^kb_\w{26}$/)
    t.strictSame(complaints, [])
  })

  t.test('the pages of operators are apart, and those of the account under the picture', async (t) => {
    const areas = async ({ page }: Opened): Promise<string[]> => {
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      return await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()
    }
    const mine = await open(t, '')
    const all = ['Home', 'Files', 'AI', 'Payments', 'Events and webhooks', 'People and access', 'Settings']
    t.strictSame(await areas(mine), all)
    await mine.page.getByRole('button', { name: /^Account/ }).focus()
    await mine.page.keyboard.press('Enter')
    await mine.page.getByRole('link', { name: 'User profile' }).waitFor()
    await assertAccessible(t, mine.page, 'the account')
    const operator = await openConsole(t, browser, server.url, '', { key: server.key })
    t.strictSame(await areas(operator), [...all, 'Users of the platform'])
  })

  t.test('a form begins with the chosen project', async (t) => {
    const { page } = await open(t, `/ai/knowledge?project_id=${own.id}`)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const dialog = page.getByRole('dialog')
    t.equal(await dialog.getByLabel('Project ID').inputValue(), own.id)
    await dialog.getByLabel('Name', { exact: true }).fill('Hedges')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Hedges', level: 1 }).waitFor()
    const { body } = await client.get(`/ai/knowledge?project_id=${own.id}&q=Hedges`)
    t.match(body.data, [{ name: 'Hedges' }])
    await client.delete(`/ai/knowledge/${body.data[0].id}`)
  })

  t.test('a filter is a chip that applies at once and stays in the address', async (t) => {
    const { page, complaints } = await open(t, '/projects')
    await page.getByRole('link', { name: 'Garden' }).waitFor()
    await page.getByLabel('Status').selectOption('archived')
    await page.getByText('Nothing matches.').waitFor()
    t.equal(new URL(page.url()).searchParams.get('status'), 'archived')
    await assertAccessible(t, page, 'a chip')
    await page.getByRole('button', { name: 'Remove Status' }).click()
    await page.getByRole('link', { name: 'Garden' }).waitFor()
    t.equal(new URL(page.url()).search, '')
    await page.keyboard.press('Escape')
    await page.locator('main').focus()
    await page.keyboard.press('/')
    await page.keyboard.type('arm')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Garden' }).waitFor({ state: 'detached' })
    t.strictSame(await page.locator('td.lead').allTextContents(), ['Arms'])
    await page.goBack()
    await page.getByRole('link', { name: 'Garden' }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('at 390 pixels filters are a drawer and rows are cards', async (t) => {
    const { page, complaints } = await open(t, '/projects', { width: 390, dark: true })
    await page.getByRole('link', { name: 'Garden' }).waitFor()
    t.notOk(await page.getByLabel('Status').isVisible())
    const display = `getComputedStyle(document.querySelector('tbody tr')).display`
    t.equal(await page.evaluate(display), 'grid')
    await page.getByRole('button', { name: 'Filters' }).click()
    await assertAccessible(t, page, 'the drawer')
    await page.getByLabel('Status').selectOption('active')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Filters (1)' }).waitFor()
    t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
    t.strictSame(complaints, [])
  })

  t.test('rows are reached, selected and deleted by keys', async (t) => {
    const place = `/ai/knowledge?project_id=${own.id}`
    const { page, complaints } = await open(t, place)
    await page.getByRole('link', { name: 'Tulips' }).waitFor()
    await page.locator('main').focus()
    const focused = async (): Promise<unknown> => await page.evaluate('document.activeElement.textContent')
    await page.keyboard.press('j')
    t.equal(await focused(), 'Tulips', 'the newest is first')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('j')
    t.equal(await focused(), 'Roses')
    await page.keyboard.press('x')
    await page.getByText('2 selected').waitFor()
    await page.keyboard.press('k')
    t.equal(await focused(), 'Tulips')
    await assertAccessible(t, page, 'a selection')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete 2 knowledge bases?' })
    t.match(await dialog.textContent(), /Tulips.*Roses/)
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText(/^There are no knowledge bases/).waitFor()
    t.strictSame((await client.get(place)).body.data, [])
    t.strictSame(complaints, [])
  })

  t.test('Ctrl-K finds pages, actions, projects and IDs', async (t) => {
    const { page, complaints } = await open(t, '')
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    const search = page.getByRole('combobox', { name: /^Search pages/ })
    const seek = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k')
      await search.fill(text)
    }
    await seek('webhook del')
    await page.getByRole('option', { name: 'Deliveries' }).waitFor()
    await assertAccessible(t, page, 'the search')
    await search.fill('logs')
    await page.getByRole('option', { name: 'Requests Events and webhooks' }).waitFor()
    await search.fill('deliv')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Deliveries', level: 1 }).waitFor()
    await seek('garden')
    await page.getByRole('option', { name: 'Garden' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Garden', level: 1 }).waitFor()
    await seek(inside.id)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Arms', level: 1 }).waitFor()
    await seek('create projects')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await page.keyboard.press('Escape')
    await seek('nothing has this name')
    await page.getByText('Nothing is found.').waitFor()
    await page.keyboard.press('Escape')
    await search.waitFor({ state: 'detached' })
    t.strictSame(complaints, [])
  })

  t.test('a form shows its first problem, offers names and reads amounts aloud', async (t) => {
    const { page, complaints } = await open(t, '/webhooks/endpoints?new=1')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.locator('[aria-invalid=true]').first().waitFor()
    const focused = 'document.activeElement.getAttribute("aria-invalid")'
    t.equal(await page.evaluate(focused), 'true', 'the first invalid field has the focus')
    t.ok(await dialog.locator('[aria-invalid=true]').first().isVisible())
    t.notMatch(await dialog.locator('small').allTextContents(), /`/, 'no Markdown is shown as it is')
    await page.keyboard.press('Escape')

    await page.goto(`${server.url}/console/ai/knowledge?new=1`)
    await dialog.getByLabel('Project ID').focus()
    await page.locator('datalist option', { hasText: 'Garden' }).waitFor({ state: 'attached' })
    t.equal(await page.locator('datalist option', { hasText: 'Garden' }).getAttribute('value'), own.id)

    const seller = await openConsole(t, browser, server.url, '/payments/prices?new=1', { key: server.key })
    const form = seller.page.getByRole('dialog')
    await form.getByRole('spinbutton', { name: 'Unit amount' }).fill('1250')
    await form.locator('#field-currency').selectOption('eur')
    await form.locator('output', { hasText: '€12.50' }).waitFor()
    t.strictSame([...complaints, ...seller.complaints], [])
  })

  t.test(
    'an empty list leads to the items of other places, and says what it is not limited to',
    async (t) => {
      const { page, complaints } = await open(t, '/ai/sessions')
      await page.getByText('There are no chats yet.').waitFor()
      t.equal(await page.getByRole('link', { name: 'Show all' }).count(), 0, 'there are none')
      const body = { title: 'Pruning', project_id: own.id }
      t.equal((await client.post('/ai/sessions', body)).status, 201)
      for (const [place, words] of [
        ['', 'There are no chats outside of projects yet.'],
        [`?project_id=${inside.id}`, 'There are no chats here yet.'],
      ]) {
        await page.goto(`${server.url}/console/ai/sessions${place}`)
        await page.getByText(words).waitFor()
        await assertAccessible(t, page, words)
        await page.getByRole('link', { name: 'Show all that you can see' }).click()
        await page.getByRole('link', { name: 'Pruning' }).waitFor()
      }
      const note = page.getByText('These are of your whole account')
      t.equal(await note.count(), 0)
      for (const path of ['/webhooks/endpoints', '/webhooks/deliveries', '/requests']) {
        await page.goto(`${server.url}/console${path}?project_id=${own.id}`)
        await note.waitFor()
      }
      t.strictSame(complaints, [])
    },
  )

  t.test('what a person does not have yet is no error', async (t) => {
    const { page, complaints } = await open(t, '/user/avatar')
    await page.getByText('There is none yet.').waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await assertAccessible(t, page, 'an empty state')
    t.strictSame(complaints, [])
  })

  t.test('nothing moves on a page while it is loaded', async (t) => {
    const [event] = (await client.get('/events?order=desc&limit=1')).body.data
    const base = (await client.get(`/ai/knowledge?project_id=${inside.id}`)).body.data[0].id
    const file = await uploadFile(client)
    const paths = [
      '',
      '/projects',
      `/projects/${own.id}`,
      `/ai/knowledge?project_id=${inside.id}`,
      `/ai/knowledge/${base}/documents`,
      '/audit-log',
      '/events',
      `/events/${event.id}`,
      '/payments/orders',
      '/people',
      `/people?project_id=${inside.id}`,
      '/requests',
      '/storage/files',
      `/storage/files/${file.id}`,
      '/webhooks/deliveries',
    ]
    await Promise.all(
      [1280, 390].map(async (width) => {
        const { page } = await open(t, '/projects', { width })
        for (const path of paths) {
          await page.goto(`${server.url}/console${path}`)
          await assertStill(t, page, `${path} at ${width}`)
        }
      }),
    )
  })
})
