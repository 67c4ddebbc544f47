// The search over the documentation, and what its script adds to the pages.
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)

/** The address and the title of each result, in order. */
async function search(query: string): Promise<Array<{ href: string; title: string }>> {
  const response = await fetch(`${server.url}/docs/search?q=${encodeURIComponent(query)}`)
  if (response.status !== 200) throw new Error(`the search answers ${response.status}`)
  const page = await response.text()
  return [...page.matchAll(/<a href="([^"]+)"\s*>\s*<span class="kind">.*?<strong>([^<]*)/gs)].map(
    ([, href, title]) => ({ href, title }),
  )
}

t.test('guides, operations, errors and events are found', async (t) => {
  for (const [query, href] of [
    ['resume an upload', '/docs/guides/files#resume-an-upload'],
    ['idempotency', '/docs/guides/idempotency'],
    [
      'create a checkout',
      '/docs/reference/payments#platform-api/tag/payments-checkout/POST/payments/checkout',
    ],
    ['POST /v1/projects', '/docs/reference/settings#platform-api/tag/projects/POST/projects'],
    ['PAYLOAD_TOO_LARGE', '/docs/errors#PAYLOAD_TOO_LARGE'],
    ['order.paid', '/docs/events#order.paid'],
    // A slip of the pen, and the beginning of a word.
    ['webhok signature', '/docs/guides/typescript-client#webhooks'],
    ['refun', '/docs/reference/payments#platform-api/tag/payments-refunds/GET/payments/refunds'],
  ] as const) {
    const found = (await search(query)).map((result) => result.href)
    t.ok(found.includes(href), `${query}: ${found.slice(0, 5).join(', ')}`)
  }
})

t.test('every result leads to a page, and its anchor exists', async (t) => {
  for (const query of ['files', 'payment', 'key']) {
    const results = await search(query)
    t.equal(results.length, 20)
    for (const { href } of results) {
      const [path, anchor] = href.split('#')
      const page = await (await fetch(server.url + path)).text()
      if (anchor !== undefined && !path.startsWith('/docs/reference'))
        t.ok(page.includes(`id="${anchor}"`), href)
    }
  }
})

t.test('a query is text', async (t) => {
  for (const query of ['', '   ', '<script>alert(1)</script>', '"'.repeat(5_000), 'z'.repeat(5_000)]) {
    const response = await fetch(`${server.url}/docs/search?q=${encodeURIComponent(query)}`)
    t.equal(response.status, 200)
    const page = await response.text()
    t.notMatch(page, '<script>alert')
    t.match(page, 'Nothing was found.')
    t.ok(page.length < 60_000)
  }
  t.equal((await fetch(`${server.url}/docs/search`)).status, 200)
  t.equal((await fetch(`${server.url}/docs/search?q=a&q=b`)).status, 200)
})

t.test('results are shown while typing, and code is copied', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ]) {
    const context = await browser.newContext({ viewport, permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    const problems: string[] = []
    page.on('console', (message) => problems.push(message.text()))
    page.on('pageerror', (error) => problems.push(String(error)))
    await page.goto(`${server.url}/docs/guides/quickstart`)
    await page.keyboard.press('/')
    await page.keyboard.type('rotate a key')
    const result = page.getByRole('link', { name: /^Guide Authentication and scopes: Rotate a key/ })
    await result.waitFor()
    await page.keyboard.press('ArrowDown')
    t.ok(
      await page.evaluate("document.activeElement.closest('.results') !== null"),
      'the first result has the focus',
    )
    await page.keyboard.press('Escape')
    await result.waitFor({ state: 'hidden' })
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/search?q=rotate+a+key')
    await result.click()
    await page.waitForURL('**/docs/guides/authentication#rotate-a-key')

    await page.locator('pre', { hasText: '"overlap_seconds": 3600' }).first().hover()
    await page.locator('.copied.in-shell', { hasText: 'overlap_seconds' }).getByRole('button').click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    t.match(await page.evaluate('navigator.clipboard.readText()'), /^KEY_ID=\$\(api POST/)

    t.equal(await page.getByText('client.user.api_keys.create(').first().isVisible(), false)
    await page.getByText('Python', { exact: true }).click()
    await page.getByText('client.user.api_keys.create(').first().waitFor()
    t.equal(await page.getByText('api POST /v1/user/api-keys').first().isVisible(), false)
    await page.goto(`${server.url}/docs/guides/quickstart`)
    await page.getByText('client.projects.create(name="Launch", tags=["q4"])').waitFor()
    t.ok(
      await page.getByRole('radio', { name: 'Python' }).isChecked(),
      'the next guide has the same language',
    )
    t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows')
    t.same(problems, [])
    await context.close()
  }
})
