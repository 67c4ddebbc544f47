// The reference page in a browser that can reach only the server under test.
import type { Browser, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { areas } from '../../../services/docs/areas.ts'
import { waitUntil } from '../server/wait.ts'

export interface ReferencePage {
  page: Page
  /** Method and URL of each request. */
  requests: string[]
  /** Errors and warnings of the console, and uncaught errors. */
  consoleMessages: string[]
}

export interface ReferenceOptions {
  /** Default: that of accounts. */
  area?: string
  viewport?: { width: number; height: number }
  colorScheme?: 'light' | 'dark'
}

/** Opens the page of an area, and shows the operations of its first section. */
export async function openReference(
  t: Test,
  browser: Browser,
  url: string,
  { area: name = 'Account', ...options }: ReferenceOptions = {},
): Promise<ReferencePage> {
  const area = areas().find((each) => each.name === name)!
  const [section] = area.tags
  const anchor = section.operations[0].href.split('#')[1]
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  const requests: string[] = []
  const consoleMessages: string[] = []
  context.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(`${request.method()} ${request.url()}`)
  })
  await context.route(
    (to) => to.origin !== url,
    (route) => route.abort(),
  )
  const page = await context.newPage()
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) consoleMessages.push(message.text())
  })
  context.on('weberror', (error) => consoleMessages.push(String(error.error())))
  // Rendering takes long on a busy machine.
  page.setDefaultTimeout(90_000)
  await page.goto(url + area.href)
  await page.getByRole('heading', { name, exact: true }).first().waitFor()
  // The page renders a section when it comes near, with its operations collapsed.
  const showAll = page.getByRole('button', { name: `Show all ${section.title} endpoints` })
  const operation = page.locator(`[id="${anchor}"]`)
  await waitUntil(async () => {
    if (await showAll.isVisible()) await showAll.click()
    await page.mouse.wheel(0, 400)
    return await operation.isVisible()
  }, 'the first section')
  return { page, requests, consoleMessages }
}

/** The field of the API key, of the page or of its open dialog. */
export function keyField(page: Page | Locator): Locator {
  return page.getByPlaceholder('Token').first()
}

export const dialogSelector = '.scalar-client--open'

/** Opens the dialog "Test Request" of the first operation. */
export async function openDialog(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Test Request' }).first().click()
  const dialog = page.locator(dialogSelector)
  await sendButton(dialog).waitFor()
  return dialog
}

/** The button that is on the screen: the dialog has one for wide and one for narrow screens. */
export function sendButton(dialog: Locator): Locator {
  return dialog.locator('[data-addressbar-action=send]').locator('visible=true')
}
