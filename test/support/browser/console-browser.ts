// The console in a browser: opens its pages, collects complaints, and runs axe.
import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import { violationsOn } from './axe.ts'

export interface OpenOptions {
  /** Null opens the sign-in. */
  key: string | null
  /** In pixels. */
  width?: number
  dark?: boolean
}

export interface Opened {
  page: Page
  /** Messages of the console, errors, and violations of the policy. */
  complaints: string[]
}

export async function openConsole(
  t: Test,
  browser: Browser,
  url: string,
  path: string,
  { key, width = 1280, dark = false }: OpenOptions,
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? 'dark' : 'light',
  })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // Chromium logs each answer that is no success.
    const isStatus = message.text().startsWith('Failed to load resource: the server responded')
    if (['error', 'warning'].includes(message.type()) && !isStatus) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(`${url}/console${path}${key === null ? '' : `#key=${key}`}`)
  return { page, complaints }
}

export async function assertAccessible(t: Test, page: Page, what: string): Promise<void> {
  const found = await violationsOn(page)
  t.strictSame(
    found.map(({ id, nodes }) => `${id}: ${nodes[0].html}`),
    [],
    `${what}: axe finds nothing`,
  )
}

/**
 * Asserts that nothing has moved on the page without a click, also while it was loaded.
 * @param most the layout shift that is no movement: by default that of a time that becomes a second older
 */
export async function assertStill(t: Test, page: Page, what: string, most = 0.001): Promise<void> {
  await page.waitForLoadState('networkidle')
  const moved = await page.evaluate(`new Promise((resolve) => {
    const moved = []
    const place = ({ x, y }) => Math.round(x) + ' ' + Math.round(y)
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, value, sources } of list.getEntries())
        // A placeholder that moved before the page replaced it does not count.
        if (!hadRecentInput && value > ${most} && sources.some(({ node }) => node !== null))
          moved.push(value.toFixed(4) + sources.map(({ node, previousRect, currentRect }) =>
            ' ' + node?.outerHTML?.slice(0, 60) + ' ' + place(previousRect) + ' to ' + place(currentRect)))
    }).observe({ type: 'layout-shift', buffered: true })
    requestAnimationFrame(() => setTimeout(() => resolve(moved), 0))
  })`)
  t.strictSame(moved, [], `${what}: nothing moves`)
}
