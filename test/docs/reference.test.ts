// The reference page in a real browser that can reach only this server.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { html } from '../../infra/html/html.ts'
import { assertNoBarriers } from '../support/browser/axe.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import {
  dialogSelector,
  keyField,
  openDialog,
  openReference,
  sendButton,
} from '../support/browser/reference-page.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)

const pagePath = '/docs/reference/account'

t.test('the page and its script are served by this server and can be cached', async (t) => {
  const { url } = server
  const page = await fetch(url + pagePath)
  t.equal(page.status, 200)
  t.match(page.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self';/)
  t.equal(page.headers.get('referrer-policy'), 'no-referrer')
  t.equal(page.headers.get('x-frame-options'), 'DENY')
  const source = await page.text()
  t.match(source, 'Loading the reference…', 'a reader sees that the page is loading')
  t.notMatch(source, /(src|href)="(?!\/|data:)/, 'the page loads nothing from other hosts')
  const [path, pageScript] = [...source.matchAll(/<script src="([^"]+)"/g)].map(([, source]) => source)
  t.equal((await fetch(url + pageScript)).headers.get('content-type'), 'text/javascript; charset=utf-8')
  t.match(path, /^\/docs\/scalar-\d+\.\d+\.\d+\.js$/)

  const fetchScript = (headers: Record<string, string>): Promise<Response> => fetch(url + path, { headers })
  const plain = await fetchScript({ 'accept-encoding': 'identity' })
  const compressed = await fetchScript({ 'accept-encoding': 'br, gzip' })
  for (const script of [plain, compressed]) {
    t.equal(script.status, 200)
    t.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
    t.equal(script.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    t.equal(script.headers.get('vary'), 'accept-encoding')
    t.equal(script.headers.get('x-content-type-options'), 'nosniff')
  }
  t.equal(plain.headers.get('content-encoding'), null)
  t.equal(compressed.headers.get('content-encoding'), 'gzip')
  t.equal((await fetchScript({ 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding'), null)
  t.not(plain.headers.get('etag'), compressed.headers.get('etag'))
  t.equal(await plain.text(), await compressed.text())
  const known = await fetchScript({
    'accept-encoding': 'gzip',
    'if-none-match': compressed.headers.get('etag')!,
  })
  t.equal(known.status, 304)
  t.equal(await known.text(), '')
})

t.test('the root redirects browsers to the console, and gives links to programs', async (t) => {
  const { url } = server
  const ask = (accept: string, method = 'GET') =>
    fetch(url, { method, headers: { accept }, redirect: 'manual' })
  const browser = await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
  t.equal(browser.status, 302)
  t.equal(browser.headers.get('location'), '/console')
  t.equal(browser.headers.get('vary'), 'accept')
  for (const accept of ['*/*', 'application/json', 'text/html;q=0']) {
    const program = await ask(accept)
    t.equal(program.status, 200, accept)
    t.equal(program.headers.get('vary'), 'accept')
    const links: any = await program.json()
    t.match(links, { name: 'Platform API', api: `${url}/v1`, llms: `${url}/llms.txt` })
    for (const link of [links.openapi, links.docs, links.guides, links.llms, links.health])
      t.equal((await fetch(link)).status, 200, link)
  }
  t.equal((await ask('text/html', 'POST')).status, 404)
})

t.test('crawlers and models find the documentation', async (t) => {
  const { url } = server
  const llms = await (await fetch(`${url}/llms.txt`)).text()
  t.match(llms, /^# Platform API\n\n> A versioned/)
  const links = [...llms.matchAll(/\]\((http[^)]+)\)/g)].map(([, link]) => link)
  t.ok(links.length > 20)
  for (const link of links) t.equal((await fetch(link)).status, 200, link)
  t.match(await (await fetch(`${url}/docs/guides/files.md`)).text(), /^# Files\n/)
  t.match(await (await fetch(`${url}/robots.txt`)).text(), /^User-agent: \*\n/)
  const icon = await fetch(`${url}/favicon.ico`)
  t.match(icon.headers.get('content-type'), 'image/svg+xml')
})

t.test('the reference lists every operation by area, each with a document of its own', async (t) => {
  const contract = (await (await fetch(`${server.url}/openapi.json`)).json()) as Contract
  const index = await (await fetch(`${server.url}/docs`)).text()
  const links = [
    ...index.matchAll(/href="(\/docs\/reference\/[a-z-]+)#platform-api\/tag\/[a-z-]+\/([A-Z]+)([^"]+)"/g),
  ]
  const listed = links.map(([, , method, path]) => `${method} ${path}`)
  t.same(listed.sort(), operationsOf(contract).sort())
  for (const { 'x-displayName': name } of contract.tags)
    t.ok(index.includes(html`<h3>${name}</h3>`.text), name)

  const parts: string[] = []
  for (const area of new Set(links.map(([, area]) => area))) {
    const part = (await (await fetch(`${server.url}${area}/openapi.json`)).json()) as Contract
    parts.push(...operationsOf(part))
    const text = JSON.stringify(part)
    for (const [, kind, name] of text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g))
      if (part.components[kind]?.[name] === undefined) t.fail(`${area} has no ${kind} ${name}`)
    t.ok(text.length < 600_000, `${area} has ${text.length} bytes`)
    t.equal((await fetch(server.url + area)).status, 200)
  }
  t.same(parts.sort(), listed)
  const missing = await fetch(`${server.url}/docs/reference/nothing`)
  t.equal(missing.status, 404)
  t.match(await missing.json(), { error: { code: 'NOT_FOUND' } })
})

interface Contract {
  paths: Record<string, Record<string, { operationId?: string; 'x-same-as'?: string }>>
  tags: Array<{ 'x-displayName': string }>
  components: Record<string, Record<string, unknown>>
}

/** Without PATCH, which does the same as PUT. */
function operationsOf({ paths }: Contract): string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, entry]) => entry.operationId !== undefined && entry['x-same-as'] === undefined)
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
}

const browser = skipWithoutBrowser ? null : await launchBrowser(t)

// The page takes seconds to load: these tests share one.
t.test('on a desktop', { skip: skipWithoutBrowser }, async (t) => {
  const { page, requests, consoleMessages } = await openReference(t, browser!, server.url, {
    viewport: { width: 1200, height: 900 },
    colorScheme: 'light',
  })

  t.test('the page is accessible', async (t) => await assertNoBarriers(t, page, pagePath))

  t.test('a reader sees code samples, example responses and the catalogues', async (t) => {
    const operation = page.locator('[id="platform-api/tag/user/GET/user/profile"]')
    await operation.scrollIntoViewIfNeeded()
    await operation.filter({ hasText: 'curl "$PLATFORM_BASE_URL/v1/user/profile"' }).waitFor()
    await operation.filter({ hasText: 'Wrote the first program.' }).waitFor()
    await operation.getByRole('button', { name: 'curl' }).click()
    t.same(await page.getByRole('option').allTextContents(), ['curl', 'TypeScript', 'Python'])
    await page.getByRole('option', { name: 'Python' }).click()
    await operation.filter({ hasText: 'client.user.profile.get(' }).waitFor()
    // In a tab of its own, so that the reference stays loaded.
    const events = await follow(page, '/docs/events', { inNewTab: true })
    await showsCatalogue(t, events, 'project.created')
    await events.close()
    t.same(consoleMessages, [])
  })

  t.test('the page shows the 401 for an invalid key', async (t) => {
    await keyField(page).fill('plat_test_wrong')
    const dialog = await openDialog(page)
    await assertNoBarriers(t, page, 'the dialog', dialogSelector)
    await sendButton(dialog).click()
    await page.getByText('401 Unauthorized').waitFor()
    await page.getByText('"UNAUTHORIZED"').waitFor()
    t.equal(consoleMessages.length, 1, 'the browser logs only the 401')
    t.match(consoleMessages.pop(), /status of 401/)
    await page.keyboard.press('Escape')
  })

  t.test('a reader sends a request with an API key', async (t) => {
    await keyField(page).fill(server.key)
    await tryProfile(page)
    await page.getByText('200 OK').waitFor()
    await page.getByText('"admin@example.com"').waitFor()
    await page.getByRole('button', { name: /^Response Headers/ }).click()
    await page.getByText('X-Request-Id', { exact: true }).waitFor()

    t.ok(requests.includes(`GET ${server.url}/v1/user`))
    t.same(
      requests.filter((request) => !request.includes(` ${server.url}/`)),
      [],
      'no request goes to another host',
    )
    t.notMatch(requests.join('\n') + page.url(), server.key, 'the key is in no URL')
    t.notMatch(await storedData(page), server.key, 'the key is not stored')
    t.same(consoleMessages, [])

    await page.reload()
    await keyField(page).waitFor()
    t.equal(await keyField(page).inputValue(), '', 'a reload clears the key')
    await showsCatalogue(t, await follow(page, '/docs/errors'), 'INVALID_REQUEST')
    t.same(consoleMessages, [])
  })
})

t.test('the page works on a phone and in dark mode', { skip: skipWithoutBrowser }, async (t) => {
  const { page, consoleMessages } = await openReference(t, browser!, server.url, {
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
  })
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
    0,
    'there is no horizontal overflow',
  )
  t.match(await page.evaluate('document.body.className'), /dark-mode/)
  await assertNoBarriers(t, page, pagePath)
  await keyField(page).fill(server.key)
  const send = sendButton(await openDialog(page))
  await assertNoBarriers(t, page, 'the dialog', dialogSelector)
  const { x, width } = (await send.boundingBox())!
  t.ok(x >= 0 && x + width <= 390, `the Send button is on the screen: ${x} to ${x + width}`)
  await send.click()
  await page.getByText('200 OK').waitFor()
  t.same(consoleMessages, [])
})

/**
 * Clicks a link of the reference. The page renders its sections lazily, so the link may move away during the
 * click; then the click is repeated.
 * @returns the page of the link's target.
 */
async function follow(page: Page, href: string, { inNewTab = false } = {}): Promise<Page> {
  for (let clicks = 1; ; clicks++) {
    const [target] = await Promise.all([
      inNewTab
        ? page
            .context()
            .waitForEvent('page', { timeout: 10_000 })
            .catch(() => null)
        : page.waitForURL(`**${href}`, { waitUntil: 'commit', timeout: 10_000 }).then(
            () => page,
            () => null,
          ),
      page.locator(`a[href="${href}"]`).click({ modifiers: inNewTab ? ['Control'] : [] }),
    ])
    if (target !== null) return target
    if (clicks === 3) throw new Error(`the link to ${href} leads nowhere`)
  }
}

async function showsCatalogue(t: Test, page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { name: heading, exact: true }).waitFor()
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
    0,
    'there is no horizontal overflow',
  )
}

async function tryProfile(page: Page): Promise<void> {
  await sendButton(await openDialog(page)).click()
}

async function storedData(page: Page): Promise<string> {
  return (
    (await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')) +
    JSON.stringify(await page.context().storageState({ indexedDB: true }))
  )
}
