// Prism (Stoplight) as a proxy that validates requests and responses. No other test needs its packages.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { startMeasured, type StartedServer } from '../server/measured-process.ts'

const folder = join(import.meta.dirname, 'prism')
const main = join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js')

/** Installs it if it is missing. @returns whether it is here. */
export function hasPrism(): boolean {
  const { npm_execpath: npm } = process.env
  if (existsSync(main) || npm === undefined) return existsSync(main)
  try {
    const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
    execFileSync(process.execPath, [npm, ...args], { stdio: 'ignore' })
  } catch {
    // The registry cannot be reached.
  }
  return existsSync(main)
}

/** Answers with an error of Prism where the request or the response violates the document. */
export function startPrism(file: string, upstream: string): Promise<StartedServer> {
  return startMeasured([main, 'proxy', file, upstream, '--errors', '--port', '0'], folder)
}
