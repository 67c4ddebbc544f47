// Installs the frameworks to compare with into this folder; no other command needs them.
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname

export function installOthers(): void {
  if (isInstalled()) return
  console.log('Installing the frameworks to compare with ...')
  const { npm_execpath: script } = process.env
  const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  if (script !== undefined && /npm-cli\.[cm]?js$/.test(script))
    execFileSync(process.execPath, [script, ...args], { stdio: 'inherit' })
  else execFileSync('npm', args, { stdio: 'inherit', shell: process.platform === 'win32' })
}

/** npm writes its list of installed packages last. */
function isInstalled(): boolean {
  try {
    const wanted = statSync(join(folder, 'package-lock.json'))
    const installed = statSync(join(folder, 'node_modules/.package-lock.json'))
    return (
      installed.mtimeMs >= wanted.mtimeMs &&
      readFileSync(join(folder, 'node_modules/express/package.json')).length > 0
    )
  } catch {
    return false
  }
}
