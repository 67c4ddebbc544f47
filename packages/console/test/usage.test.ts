// The charts of the overview in a browser: their bars and table have the numbers of GET /usage.
import t, { type Test } from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import {
  assertAccessible,
  openConsole,
  type Opened,
  type OpenOptions,
} from '../../../test/support/browser/console-browser.ts'
import { newIdAt, newRequestId } from '../../../infra/ids.ts'
import { startServer, type Person } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)
  const open = async (t: Test, { key }: Person, options: Partial<OpenOptions> = {}): Promise<Opened> =>
    await openConsole(t, browser, server.url, '', { key, ...options })
  const dayOf = (daysAgo: number): Date =>
    new Date(new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10))

  t.test('the charts and their table have the numbers of each day, in light and in dark', async (t) => {
    const person = await server.person()
    const { prisma } = server.services.database
    const day = { userId: person.id, downloadedBytes: 0, storageBytes: 2_000_000 }
    await prisma.usageDay.createMany({
      data: [
        { ...day, day: dayOf(2), requests: 400, errors: 100 },
        { ...day, day: dayOf(1), requests: 200, errors: 0 },
      ],
    })
    await prisma.aiUsage.create({
      data: { userId: person.id, apiKeyId: 'key_x', day: dayOf(1), promptTokens: 1200, completionTokens: 34 },
    })
    const fills: string[] = []
    for (const dark of [false, true]) {
      const { page, complaints } = await open(t, person, { dark })
      const requests = page.getByRole('img', { name: 'Requests by day: 600, 100 with errors' })
      await requests.waitFor()
      await page.getByRole('img', { name: 'Storage by day: 0 bytes now' }).waitFor()
      await page.getByRole('img', { name: 'Tokens by day: 1,234' }).waitFor()
      const all = await requests.locator('rect').all()
      const bars = await Promise.all(all.map(async (bar) => await bar.getAttribute('height')))
      t.equal(bars.length, 60)
      t.strictSame(bars.slice(26, 30), ['0', '60', '30', '0'])
      t.strictSame(bars.slice(56, 60), ['0', '15', '0', '0'])
      for (const kind of ['svg', '.bad']) {
        const fill = `getComputedStyle(document.querySelector('.charts ${kind}')).fill`
        fills.push(await page.evaluate(fill))
      }
      t.equal(await page.getByRole('table').count(), 0, 'the table is closed')
      await page.getByText('Usage of each day').click()
      const rows = page.getByRole('table').getByRole('row')
      t.equal(await rows.count(), 31)
      const cells = await rows.nth(3).getByRole('cell').allTextContents()
      t.strictSame(cells, ['400', '100', '2 MB', '0 bytes', '0', '0'])
      t.equal(await rows.nth(3).getByRole('rowheader').textContent(), dayOf(2).toISOString().slice(0, 10))
      await assertAccessible(t, page, dark ? 'dark' : 'light')
      t.strictSame(complaints, [])
    }
    t.equal(new Set(fills).size, 4, `each bar has a color of the scheme: ${fills.join(' ')}`)
  })

  t.test('a day by hour, and the projects with the most requests', async (t) => {
    const person = await server.person()
    const project = (await person.client.post('/projects', { name: 'Greenhouse' })).body
    const { prisma } = server.services.database
    const createdAt = new Date(Date.now() - 3_600_000)
    const request = { userId: person.id, keyId: 'key_x', operation: 'getUser', method: 'GET', createdAt }
    await prisma.apiRequest.createMany({
      data: [
        [200, 40],
        [403, 3],
        [503, 2],
      ].map(([status, requests]) => ({
        ...request,
        id: newIdAt('arq', createdAt),
        status,
        requests,
        durationMs: 1,
        requestId: newRequestId(),
      })),
    })
    const none = { errors: 0, downloadedBytes: 0, answers: 0, promptTokens: 0, completionTokens: 0 }
    const counted = { ...none, costMicros: 0, userId: person.id, day: dayOf(1), credentialId: '', model: '' }
    await prisma.usageCount.createMany({
      data: [
        { ...counted, projectId: project.id, requests: 30 },
        { ...counted, projectId: '', requests: 15 },
      ],
    })
    for (const options of [{}, { width: 390, dark: true }]) {
      const { page, complaints } = await open(t, person, options)
      await page.getByRole('button', { name: '24 hours' }).click()
      await page.getByRole('heading', { name: 'Last 24 hours' }).waitFor()
      const requests = page.getByRole('img', { name: 'Requests by hour: 45, 5 with errors' })
      t.equal(await requests.locator('rect').count(), 48)
      await page.getByRole('img', { name: 'Errors by hour: 5, 2 of the server' }).waitFor()
      await page.getByRole('img', { name: 'Greenhouse: 30' }).waitFor()
      await page.getByRole('img', { name: 'Without a project: 15' }).waitFor()
      await assertAccessible(t, page, `hours ${JSON.stringify(options)}`)
      t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), 'it fits')
      t.strictSame(complaints, [])
    }
  })

  t.test('a user without requests sees charts without bars, on a narrow screen too', async (t) => {
    const { page, complaints } = await open(t, await server.person(), { width: 320 })
    await page.getByRole('img', { name: 'Requests by day: 0, 0 with errors' }).waitFor()
    await page.getByText('Usage of each day').click()
    await page.getByRole('table').waitFor()
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, 'only the table scrolls')
    t.strictSame(complaints, [])
  })

  t.test('a key without user:read gets no charts', async (t) => {
    const { page, complaints } = await open(
      t,
      await server.person({ scopes: ['projects:read', 'projects:write'] }),
    )
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await page.getByText('Create a project', { exact: true }).waitFor()
    t.equal(await page.getByRole('img').count(), 0)
    t.strictSame(complaints, [])
  })
})
