// Runs axe in a page of the browser.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

export interface Violation {
  id: string
  impact: string
  nodes: Array<{ html: string }>
}

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Runs all rules. The debugger brings axe in, because the policy of the pages allows no other script. */
export async function violationsOn(page: Page): Promise<Violation[]> {
  // Once per document, because it takes long to compile.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(source)
  // Without this option axe also describes each element that passes.
  return await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => ({ html })) })))`,
  )
}
