// The reference page in a browser that can reach only the server under test.
import type { Browser, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { waitUntil } from '../server/wait.ts'

export interface ReferencePage {
  page: Page
  /** Method and URL of each request. */
  requests: string[]
  /** Errors and warnings of the console, and uncaught errors. */
  consoleMessages: string[]
}

export interface ReferenceOptions {
  viewport?: { width: number; height: number }
  colorScheme?: 'light' | 'dark'
}

/** Opens the page of the area of accounts, and shows the operations of its first section. */
export async function openReference(
  t: Test,
  browser: Browser,
  url: string,
  options: ReferenceOptions = {},
): Promise<ReferencePage> {
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
  await page.goto(`${url}/docs/reference/account`)
  await page.getByRole('heading', { name: 'Account', exact: true }).waitFor()
  // The page renders a section when it comes near, with its operations collapsed.
  const showAll = page.getByRole('button', { name: /Show all Profile and settings endpoints/ })
  const operation = page.locator('[id="platform-api/tag/user/GET/user/profile"]')
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
  await page
    .locator('[id="platform-api/tag/user/GET/user"]')
    .getByRole('button', { name: 'Test Request' })
    .click()
  const dialog = page.locator(dialogSelector)
  await sendButton(dialog).waitFor()
  return dialog
}

/** The button that is on the screen: the dialog has one for wide and one for narrow screens. */
export function sendButton(dialog: Locator): Locator {
  return dialog.locator('[data-addressbar-action=send]').locator('visible=true')
}
