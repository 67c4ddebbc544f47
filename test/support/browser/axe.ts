// Runs axe in a page of the browser.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'

export interface Violation {
  id: string
  impact: string
  nodes: Array<{ html: string }>
}

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Runs all rules on the page or the element of the selector. The debugger brings axe in, because the policy
 * of the pages allows no other script.
 */
export async function violationsOn(page: Page, element = 'html'): Promise<Violation[]> {
  // Once per document, because it takes long to compile.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(source)
  // Without this option axe also describes each element that passes.
  return await page.evaluate(
    `axe.run('${element}', { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, impact, nodes }) =>
        ({ id, impact, nodes: nodes.map(({ html }) => ({ html })) })))`,
  )
}

/** Until then, what fades in has too little contrast. */
const animationsEnded = `Promise.all(document.getAnimations()
  .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
  .map((animation) => animation.finished.catch(() => {})))`

/** Asserts that axe finds nothing serious or critical. */
export async function assertNoBarriers(t: Test, page: Page, name: string, element?: string): Promise<void> {
  await page.evaluate(animationsEnded)
  const found = (await violationsOn(page, element))
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 100)).join(' | ')}`)
  t.same(found, [], name)
}
