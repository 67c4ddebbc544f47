// The console's list of documents: files are added by choice or drop, and their indexing is watched.
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { assertAccessible, openConsole } from '../../../test/support/browser/console-browser.ts'
import { randomImage } from '../../../test/support/database/db-fixtures.ts'
import { startDocumentWorker } from '../../../test/support/ai/document-worker.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'
import { uploadFile } from '../../../test/support/storage/storage.ts'

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

    // The page of a project does not load the files outside of it.
    const project = (await person.client.post('/projects', { name: 'Other' })).body.id
    const { id } = data.find(({ name }: any) => name === 'events.md')
    await page.goto(`${server.url}/console/ai/knowledge/${base}/documents/${id}?project_id=${project}`)
    await page.locator('dd').getByRole('link', { name: 'events.md' }).waitFor()
  })

  t.test('one click on a folder makes a chat that answers from its files', async (t) => {
    const person = await server.person()
    const { client } = person
    const { id: project } = (await client.post('/projects', { name: 'Museum' })).body
    const folder = (await client.post('/storage/folders', { name: 'visit', project_id: project })).body
    const facts = { 'hours.md': 'The museum opens at ten.', 'tickets.md': 'A ticket costs nine euros.' }
    for (const [name, text] of Object.entries(facts)) {
      await uploadFile(client, {
        name,
        bytes: text,
        type: 'text/markdown',
        fields: { project_id: project, folder_id: folder.id },
      })
    }
    startDocumentWorker(t, server)
    const address = `/storage/files?project_id=${project}&folder_id=${folder.id}`
    const { page, complaints } = await openConsole(t, browser, server.url, address, person)
    await page.getByRole('button', { name: 'Ask about this folder' }).click()
    await page.getByRole('heading', { name: 'About visit', level: 1 }).waitFor()
    const [base] = (await client.get(`/ai/knowledge?project_id=${project}`)).body.data
    await waitUntil(async () => {
      const { body } = await client.get(`/ai/knowledge/${base.id}`)
      return body.document_counts.ready === 2
    }, 'the documents')
    await page.getByLabel('Message', { exact: true }).fill('How much does a ticket cost?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .getByRole('list', { name: 'Sources' })
      .getByRole('button', { name: /tickets\.md/ })
      .waitFor()
    await page.getByText('A ticket costs nine euros.').first().waitFor()

    // The next chat takes the knowledge base by its name.
    await page.goto(`${server.url}/console/ai/sessions?new&project_id=${project}`)
    await page.getByRole('dialog').getByRole('checkbox', { name: 'visit' }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await waitUntil(async () => {
      const { body } = await client.get(`/ai/sessions?project_id=${project}`)
      return body.data.length === 2 && body.data[0].knowledge_base_ids[0] === base.id
    }, 'the second chat')
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
