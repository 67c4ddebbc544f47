// The console's list of documents: files are added by choice or drop, and their indexing is watched.
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { randomImage } from '../../../test/support/database/db-fixtures.ts'
import { startDocumentWorker } from '../../../test/support/ai/document-worker.ts'
import { startServer } from '../../../test/support/server/server.ts'

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const browser = await launchBrowser(t)

  t.test('a document is queued, then ready, or failed with the reason', async (t) => {
    const person = await server.person()
    const base = (await person.client.post('/ai/knowledge', { name: 'Handbook' })).body.id
    const { page, complaints } = await openConsole(
      t,
      browser,
      server.url,
      `/ai/knowledge/${base}/documents`,
      {
        ...person,
        width: 390,
        dark: true,
      },
    )
    await page.getByText('There are no documents yet.').waitFor()
    await assertAccessible(t, page, 'no documents')
    const files = [
      { name: 'events.md', mimeType: 'text/markdown', buffer: Buffer.from('Events are kept for 30 days.') },
      { name: 'cut.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 and no more') },
    ]
    await page.getByLabel('Add files').setInputFiles(files)
    await page.getByText('uploaded', { exact: true }).nth(1).waitFor()
    await page.locator('tbody .state', { hasText: 'queued' }).nth(1).waitFor()
    startDocumentWorker(t, server)
    const row = (name: string) => page.locator('tbody tr', { hasText: name })
    await row('events.md').locator('.state', { hasText: 'ready' }).waitFor()
    await row('cut.pdf').locator('.state', { hasText: 'failed' }).waitFor()
    const { data } = (await person.client.get(`/ai/knowledge/${base}/documents`)).body
    const { error } = data.find(({ name }: any) => name === 'cut.pdf')
    t.match(await row('cut.pdf').textContent(), error.message, 'the reason stands in the list')
    await assertAccessible(t, page, 'documents')
    t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), 'the page fits')

    const picture = { name: 'photo.png', mimeType: 'image/png', buffer: await randomImage() }
    await page.getByLabel('Add files').setInputFiles(picture)
    const alert = page.getByRole('alert')
    await alert.waitFor()
    t.match(await alert.textContent(), 'UNSUPPORTED_MEDIA_TYPE')
    t.equal((await person.client.get('/storage/files')).body.data.length, 2, 'the picture is not stored')
    await page.getByRole('button', { name: 'Dismiss photo.png' }).click()
    await page.locator('.uploads').getByRole('link', { name: 'events.md' }).click()
    await page.getByRole('heading', { name: 'events.md', level: 1 }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('a key that only reads adds nothing, and the documents of others are not shown', async (t) => {
    const owner = await server.person()
    const base = (await owner.client.post('/ai/knowledge', { name: 'Secret' })).body.id
    await owner.client.post(`/ai/knowledge/${base}/documents`, { name: 'secret words', text: 'None.' })
    const reader = await server.person({ scopes: ['ai:read'] })
    const own = (await reader.client.get('/ai/knowledge')).body
    t.strictSame(own.data, [])
    const { page } = await openConsole(t, browser, server.url, `/ai/knowledge/${base}/documents`, reader)
    t.match(await page.getByRole('alert').textContent(), /FORBIDDEN|NOT_FOUND/)
    t.notMatch(await page.locator('main').textContent(), 'secret words')
    t.equal(await page.getByLabel('Add files').count(), 0)
  })
})
