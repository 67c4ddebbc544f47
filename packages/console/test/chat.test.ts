// The console's page of a session: questions, streamed answers, citations, and what goes wrong on the way.
import { connect, createServer, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { startChatFixture } from '../../../test/support/ai/chat.ts'
import {
  assertAccessible,
  assertStill,
  openConsole,
  type Opened,
  type OpenOptions,
} from '../../../test/support/browser/console-browser.ts'
import { startDocumentWorker } from '../../../test/support/ai/document-worker.ts'
import { openStream } from '../../../test/support/http/event-stream.ts'
import type { Person } from '../../../test/support/server/server.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'
import { listen } from '../../../test/support/http/listen.ts'

const vault = 'The vault opens at nine.'
const slow = { pieces: Array.from({ length: 3_000 }, (_, i) => `word${i} `), piecesPerSecond: 20 }

const answers = (page: Page) => page.getByRole('log').locator('li.assistant')
const stateOf = async (page: Page, state: string): Promise<void> =>
  await answers(page)
    .last()
    .and(page.locator(`[data-status=${state}]`))
    .waitFor()
const ask = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

const waitForDraft = async (page: Page, text: string): Promise<true> =>
  await waitUntil(
    async () => (await page.getByLabel('Message', { exact: true }).inputValue()) === text,
    'the question to be in the form again',
  )

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const { server, modelServer, person } = await startChatFixture(t)
  startDocumentWorker(t, server)
  const browser = await launchBrowser(t)

  const open = async (t: Test, path: string, options: Partial<OpenOptions> = {}): Promise<Opened> =>
    await openConsole(t, browser, server.url, path, { key: person.key, ...options })
  const sessionOf = async (body: object, { client } = person): Promise<string> =>
    (await client.post('/ai/sessions', body)).body.id
  const messagesOf = async (id: string): Promise<any[]> =>
    (await person.client.get(`/ai/sessions/${id}/messages?order=asc&limit=100`)).body.data

  t.test('documents are added, a question is answered from them, and its citation is opened', async (t) => {
    const { page, complaints } = await open(t, '/ai/knowledge')
    const create = async (fields: () => Promise<void>): Promise<void> => {
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await fields()
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await create(async () => await page.getByLabel('Name').fill('House'))
    const base = page.url().split('/').at(-1)!
    const list = `${server.url}/console/ai/knowledge/${base}/documents`
    await page.goto(list)
    await create(async () => {
      await page
        .getByRole('dialog')
        .getByLabel('Text', { exact: false })
        .first()
        .fill(`# House\n\n${'A wall. '.repeat(200)}${vault}`)
      await page.getByLabel('Name').fill('house.md')
    })
    await page.locator('dd .state', { hasText: 'ready' }).waitFor()
    await page.goto(list)
    await create(
      async () =>
        await page
          .getByRole('dialog')
          .getByLabel('File', { exact: false })
          .first()
          .setInputFiles({
            name: 'cellar.txt',
            mimeType: 'text/plain',
            buffer: Buffer.from('The cellar is <b>cold</b>.'),
          }),
    )
    await page.getByRole('heading', { name: 'cellar.txt' }).waitFor()
    await page.locator('dd .state', { hasText: 'ready' }).waitFor()

    await page.goto(`${server.url}/console/ai/sessions`)
    await create(async () => {
      await page.getByLabel('Model').fill('extractive-1')
      await page.getByRole('dialog').getByRole('checkbox', { name: 'House' }).check()
    })
    await page.getByText('What would you like to know?').waitFor()
    await assertAccessible(t, page, 'an empty session')
    await ask(page, 'When does the vault open?')
    await stateOf(page, 'completed')
    t.match(await answers(page).locator('.text').textContent(), vault)
    await page.getByRole('heading', { name: 'When does the vault open?', level: 1 }).waitFor()
    t.equal(await page.getByLabel('Message', { exact: true }).inputValue(), '')
    t.equal(await page.getByRole('log').getAttribute('aria-busy'), 'false')
    await assertAccessible(t, page, 'a session with an answer')

    const source = page.getByRole('complementary', { name: 'Source' })
    const number = answers(page).getByRole('button', { name: 'Source 1', exact: true })
    await number.focus()
    await page.keyboard.press('Enter')
    await source.getByRole('heading', { name: '1 house.md' }).waitFor()
    await source.getByText('A wall.').waitFor()
    t.equal(await source.locator('mark').textContent(), vault)
    await assertAccessible(t, page, 'a source')
    await page.keyboard.press('Escape')
    await source.waitFor({ state: 'detached' })
    t.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Source 1', 'the focus is where it was')

    await ask(page, 'Is the cellar cold?')
    await page.getByRole('button', { name: '1 cellar.txt' }).click()
    await source.getByRole('link', { name: 'Open the file' }).waitFor()
    t.equal(await page.locator('mark').textContent(), 'The cellar is <b>cold</b>.')
    await page.getByRole('link', { name: 'Open the document' }).click()
    await page.getByRole('heading', { name: 'cellar.txt', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Documents', level: 1 }).waitFor()
    await page.goBack()
    await page.goBack()
    await page.getByRole('button', { name: /cellar\.txt \(changed since\)/ }).click()
    await page.getByText('The document has changed or was deleted since.').waitFor()
    t.equal(await page.locator('mark').textContent(), 'The cellar is <b>cold</b>.')
    t.strictSame(complaints, [])
  })

  t.test(
    'a slow answer is shown while it arrives, stopped, regenerated, and its question edited',
    async (t) => {
      const id = await sessionOf({ model: 'small' })
      modelServer.nextScripts = [slow, slow]
      const { page, complaints } = await open(t, `/ai/sessions/${id}`)
      const field = page.getByLabel('Message', { exact: true })
      await field.fill('One')
      await page.keyboard.press('Shift+Enter')
      await page.keyboard.type('two')
      await page.keyboard.press('Enter')
      await answers(page).getByText('word1 ').waitFor()
      t.equal(await page.getByRole('log').getAttribute('aria-busy'), 'true')
      t.equal(await page.getByRole('button', { name: 'Regenerate' }).count(), 0)
      await assertAccessible(t, page, 'an answer that arrives')
      await page.getByRole('button', { name: 'Stop' }).click()
      await stateOf(page, 'canceled')
      t.match(await messagesOf(id), [
        { role: 'user', content: 'One\ntwo' },
        { role: 'assistant', status: 'canceled', content: /^word0 word1 / },
      ])

      await page.getByRole('button', { name: 'Regenerate' }).click()
      await answers(page).getByText('word1 ').waitFor()
      await page.getByRole('button', { name: 'Stop' }).click()
      await stateOf(page, 'canceled')
      t.equal(await answers(page).count(), 1)

      modelServer.nextScripts = [{ answer: 'Three and four.' }]
      await page.getByRole('button', { name: 'Edit question' }).click()
      await page.getByLabel('Edited message').fill('Three and four?')
      await assertAccessible(t, page, 'a question that is edited')
      await page.keyboard.press('Enter')
      await stateOf(page, 'completed')
      t.match(await messagesOf(id), [
        { role: 'user', content: 'Three and four?' },
        { role: 'assistant', status: 'completed', content: 'Three and four.' },
      ])
      t.equal((await messagesOf(id)).length, 2)
      t.equal(await page.getByLabel('Edited message').count(), 0)
      t.match(await answers(page).locator('.text').textContent(), /^Three and four\.$/)
      t.strictSame(complaints, [])
    },
  )

  t.test('what a model writes is text', async (t) => {
    const id = await sessionOf({ model: 'small' })
    const answer = '<img src=x onerror="document.title=1"> [a](javascript:alert) ![b](//c/d) <b>e</b>'
    modelServer.nextScripts = [{ answer }]
    const { page, complaints } = await open(t, `/ai/sessions/${id}`)
    await page.getByLabel('Message', { exact: true }).fill('<script>document.title=1</script>')
    const submit = "document.querySelector('form').requestSubmit();"
    await page.evaluate(submit + submit)
    await stateOf(page, 'completed')
    t.equal((await messagesOf(id)).length, 2, 'a question is sent once')
    t.equal(await answers(page).locator('.text').textContent(), answer)
    t.equal(await page.getByRole('log').locator('img, script, a, b').count(), 0)
    await ask(page, 'x'.repeat(200_001))
    t.match(await page.getByRole('alert').textContent(), 'at most 200000 characters')
    await waitForDraft(page, 'x'.repeat(200_001))
    t.strictSame(complaints, [])
  })

  t.test('Markdown of an answer is shown as elements, which the page follows without a jump', async (t) => {
    const id = await sessionOf({ model: 'small' })
    const answer = [
      '## Hours\n',
      'From **noon** to *two*, see [the page](https://example.com/a) and `npm start` [7].',
      '\n3. Soup',
      '   - hot',
      '   - cold\n',
      '   More.',
      '4. Salad\n',
      '| Day | Opens |',
      '|---|:--|',
      '| Monday | 12 |\n',
      '```ts',
      'const a = **1**',
      '```',
      '> Bring a cup.',
      '***',
      'https://example.com/b is ~~old~~ a_b_c 2 * 3 * 4',
    ].join('\n')
    modelServer.nextScripts = [{ pieces: answer.match(/[^]{1,7}/g)!, piecesPerSecond: 100 }]
    const { page, complaints } = await open(t, `/ai/sessions/${id}`, { width: 390 })
    await ask(page, '**When?**')
    await stateOf(page, 'completed')
    const text = answers(page).locator('.text')
    t.equal(await page.locator('li.user .text').textContent(), '**When?**')
    t.equal(await text.getByRole('heading').textContent(), 'Hours')
    t.equal(
      await text.locator('p').first().textContent(),
      'From noon to two, see the page and npm start [7].',
    )
    t.equal(await text.locator('p > strong').textContent(), 'noon')
    t.equal(await text.locator('p > em').textContent(), 'two')
    t.strictSame(await text.locator('ol > li > ul > li').allTextContents(), ['hot', 'cold'])
    t.equal(await text.locator('ol').getAttribute('start'), '3')
    t.match(await text.locator('ol > li').allTextContents(), [/^Soup.*More\.$/, 'Salad'])
    t.strictSame(await text.locator('th, td').allTextContents(), ['Day', 'Opens', 'Monday', '12'])
    t.equal(await text.locator('pre').textContent(), 'const a = **1**')
    t.equal(await text.locator('blockquote').textContent(), 'Bring a cup.')
    t.equal(await text.locator('hr').count(), 1)
    t.equal(await text.locator('> p').last().textContent(), 'https://example.com/b is old a_b_c 2 * 3 * 4')
    t.equal(await text.locator('em').count(), 1)
    t.strictSame(
      await text
        .getByRole('link')
        .evaluateAll((links: any[]) => links.map(({ href, rel }) => `${href} ${rel}`)),
      ['https://example.com/a noopener noreferrer', 'https://example.com/b noopener noreferrer'],
    )
    await assertAccessible(t, page, 'an answer with Markdown')
    await assertStill(t, page, 'an answer', 0.01)
    t.strictSame(complaints, [])
  })

  t.test(
    'other sessions are at the side, a new one has the same documents, and the model is chosen',
    async (t) => {
      const { client } = person
      const base = (await client.post('/ai/knowledge', { name: 'Handbook' })).body.id
      const old = await sessionOf({ title: 'Old times', model: 'small', knowledge_base_ids: [base] })
      const { page, complaints } = await open(t, `/ai/sessions/${old}`)
      await page.getByRole('log').getByRole('link', { name: 'Handbook' }).waitFor()
      const chats = page.getByRole('navigation', { name: 'Chats' })
      t.equal(await chats.getByRole('link', { name: 'Old times' }).getAttribute('aria-current'), 'page')
      await chats.getByRole('button', { name: 'New chat' }).click()
      await page.getByRole('heading', { name: 'Session', level: 1 }).waitFor()
      const id = page.url().split('/').at(-1)!
      t.not(id, old)
      const model = page.getByLabel('Model', { exact: true })
      await model.selectOption('small')
      modelServer.nextScripts = [{ answer: 'Small talk.' }]
      await ask(page, 'Which model?')
      await stateOf(page, 'completed')
      t.match((await client.get(`/ai/sessions/${id}`)).body, { model: 'small', knowledge_base_ids: [base] })
      await chats.getByRole('link', { name: 'Which model?' }).waitFor()
      await chats.getByRole('link', { name: 'Old times' }).click()
      await page.getByRole('heading', { name: 'Old times', level: 1 }).waitFor()

      await page.setViewportSize({ width: 390, height: 844 })
      t.notOk(await chats.isVisible(), 'on a phone a drawer has the others')
      await page.locator('summary', { hasText: 'Chats' }).click()
      await chats.getByRole('link', { name: 'Which model?' }).waitFor()
      await assertAccessible(t, page, 'the drawer')
      await page.keyboard.press('Escape')
      await chats.waitFor({ state: 'hidden' })
      t.strictSame(complaints, [])
    },
  )

  t.test('an answer that is followed elsewhere goes on after the connection was cut', async (t) => {
    const id = await sessionOf({ model: 'small' })
    const proxy = await severable(t, server.url)
    modelServer.nextScripts = [{ pieces: slow.pieces.slice(0, 60), piecesPerSecond: 15 }]
    const { page } = await openConsole(t, browser, proxy.url, `/ai/sessions/${id}`, person)
    await ask(page, 'Count!')
    await answers(page).getByText('word1 ').waitFor()
    const { id: answerId } = (await messagesOf(id)).at(-1)
    const other = await openStream(server.url, person.key, { path: `/ai/messages/${answerId}/stream` })
    t.teardown(() => other.close())
    proxy.cut()
    await stateOf(page, 'completed')
    t.equal(await answers(page).locator('.text').textContent(), slow.pieces.slice(0, 60).join(''))
  })

  t.test('without a network the question comes back, and the part of an answer stays', async (t) => {
    const id = await sessionOf({ model: 'small' })
    modelServer.nextScripts = [slow]
    const { page } = await open(t, `/ai/sessions/${id}`)
    await page.getByText('What would you like to know?').waitFor()
    await page.context().setOffline(true)
    await ask(page, 'Are you there?')
    await page.getByRole('alert').getByText('The server did not answer').waitFor()
    await waitForDraft(page, 'Are you there?')
    await assertAccessible(t, page, 'a session without a network')
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Send' }).click()
    await answers(page).getByText('word1 ').waitFor()
    await page.reload()
    await stateOf(page, 'canceled')
    t.match(await answers(page).locator('.text').textContent(), /^word0 word1 /)
    await page.getByRole('button', { name: 'Regenerate' }).waitFor()
  })

  t.test('an answer goes on while another page is shown', async (t) => {
    const id = await sessionOf({ model: 'small' })
    modelServer.nextScripts = [{ pieces: slow.pieces.slice(0, 40), piecesPerSecond: 10 }]
    const { page, complaints } = await open(t, `/ai/sessions/${id}`)
    await ask(page, 'Count!')
    await answers(page).getByText('word1 ').waitFor()
    await page.getByRole('link', { name: 'Models' }).click()
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    await page.goBack()
    await stateOf(page, 'in_progress')
    await stateOf(page, 'completed')
    t.equal(await answers(page).locator('.text').textContent(), slow.pieces.slice(0, 40).join(''))
    t.strictSame(complaints, [])
  })

  t.test('a model that fails says so, and the answer is generated again', async (t) => {
    const id = await sessionOf({ model: 'small' })
    modelServer.script = { fault: { kind: 'status', status: 500 } }
    const { page, complaints } = await open(t, `/ai/sessions/${id}`)
    await ask(page, 'Hello?')
    await stateOf(page, 'failed')
    const { error } = (await messagesOf(id)).at(-1)
    t.equal(await answers(page).locator('.error').textContent(), error.message)
    t.equal((await messagesOf(id)).length, 2)
    t.equal(await page.getByLabel('Message', { exact: true }).inputValue(), '')
    await assertAccessible(t, page, 'an answer that failed')
    modelServer.script = { answer: 'Hello.' }
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await stateOf(page, 'completed')
    t.equal(await answers(page).count(), 1)
    t.strictSame(complaints, [])
  })

  t.test('earlier messages are loaded, and an edited one of them ends the conversation', async (t) => {
    const id = await sessionOf({ model: 'small' })
    modelServer.script = { answer: 'Yes.' }
    for (let i = 0; i < 27; i++)
      await person.client.post('/ai/chat', { session_id: id, message: `Question ${i}.` })
    const { page, complaints } = await open(t, `/ai/sessions/${id}`)
    await page.getByText('Question 26.').last().waitFor()
    t.equal(await page.getByRole('log').locator('li.user').count(), 25)
    await page.getByRole('button', { name: 'Earlier messages' }).evaluate((button: any) => {
      button.click()
      button.click()
    })
    await page.getByRole('log').getByText('Question 0.').waitFor()
    await page.waitForLoadState('networkidle')
    t.equal(await page.getByRole('log').locator('li.user').count(), 27, 'two clicks add the page once')
    t.equal(await page.getByRole('button', { name: 'Earlier messages' }).count(), 0)
    await page.getByRole('button', { name: 'Edit question' }).nth(1).click()
    await page.getByLabel('Edited message').fill('Question one?')
    await page.getByRole('button', { name: 'Save and answer' }).click()
    await page.getByLabel('Edited message').waitFor({ state: 'detached' })
    await stateOf(page, 'completed')
    t.strictSame(await page.getByRole('log').locator('.text').allTextContents(), [
      'Question 0.',
      'Yes.',
      'Question one?',
      'Yes.',
    ])
    t.strictSame(complaints, [])
  })

  t.test('a session is renamed and archived, and then takes no messages', async (t) => {
    const id = await sessionOf({ title: 'Old', model: 'small' })
    const { page, complaints } = await open(t, `/ai/sessions/${id}`, { width: 390, dark: true })
    modelServer.nextScripts = [{ answer: 'Yes. '.repeat(60) + 'x'.repeat(300) }]
    await ask(page, 'Is it dark?')
    await stateOf(page, 'completed')
    t.equal(
      await page.evaluate('document.documentElement.scrollWidth'),
      390,
      'nothing is wider than the page',
    )
    await assertAccessible(t, page, 'a session on a dark phone')
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
    await page.getByLabel('Title').fill('New')
    await page.getByLabel('Status').selectOption('archived')
    await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('heading', { name: 'New', level: 1 }).waitFor()
    await page.getByText('This session is archived').waitFor()
    t.equal(await page.getByLabel('Message', { exact: true }).count(), 0)
    t.equal(await page.getByRole('button', { name: 'Regenerate' }).count(), 0)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Chats', level: 1 }).waitFor()
    t.equal((await person.client.get(`/ai/sessions/${id}`)).status, 404)
    t.strictSame(complaints, [])
  })

  t.test('a key that reads only shows the messages and no more, and a stranger sees nothing', async (t) => {
    const id = await sessionOf({ title: 'Secret', model: 'small' })
    modelServer.nextScripts = [{ answer: 'The answer.' }]
    await person.client.post('/ai/chat', { session_id: id, message: 'The question.' })
    const body = { name: 'reader', scopes: ['ai:read', 'user:read'] }
    const { key } = (await person.client.post('/user/api-keys', body)).body
    const reader = await open(t, `/ai/sessions/${id}`, { key })
    await answers(reader.page).getByText('The answer.').waitFor()
    t.equal(await reader.page.getByLabel('Message', { exact: true }).count(), 0)
    for (const name of ['Edit', 'Regenerate', 'Delete', 'Send', 'Stop'])
      t.equal(await reader.page.getByRole('button', { name }).count(), 0, name)
    const stranger: Person = await server.person()
    const { page } = await open(t, `/ai/sessions/${id}`, { key: stranger.key })
    t.match(await page.getByRole('alert').textContent(), /FORBIDDEN|NOT_FOUND/)
    t.notMatch(await page.locator('main').textContent(), /Secret|The question|The answer/)
    t.strictSame([...reader.complaints], [])
  })

  t.test('two pages of one session do not answer at once', async (t) => {
    const id = await sessionOf({ model: 'small' })
    modelServer.nextScripts = [slow]
    const one = await open(t, `/ai/sessions/${id}`)
    const other = await open(t, `/ai/sessions/${id}`)
    await other.page.getByText('What would you like to know?').waitFor()
    await ask(one.page, 'First')
    await answers(one.page).getByText('word1 ').waitFor()
    await ask(other.page, 'Second')
    await other.page.getByRole('alert').getByText('An answer of this session is in progress').waitFor()
    await waitForDraft(other.page, 'Second')
    await answers(other.page).getByText('word1 ').waitFor()
    await other.page.getByRole('button', { name: 'Stop' }).click()
    await stateOf(one.page, 'canceled')
    await stateOf(other.page, 'canceled')
    await waitUntil(() => server.services.generations.size === 0, 'no answer to be in progress')
    t.strictSame(
      (await messagesOf(id)).map(({ role }) => role),
      ['user', 'assistant'],
    )
  })
})

/** A TCP proxy whose connections break when `cut` is called; new ones work. */
async function severable(t: Test, target: string): Promise<{ url: string; cut: () => void }> {
  const sockets = new Set<Socket>()
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1')
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    client.pipe(upstream).pipe(client)
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  const port = await listen(t, server)
  t.teardown(() => {
    cut()
  })
  return { url: `http://127.0.0.1:${port}`, cut }
}
