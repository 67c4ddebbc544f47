// Other versions of Node.js: the variable NODE20 or NODE22, or the system's Node. The long form installs
// Node.js 22 from npm.
import { execFileSync, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLongForm } from '../long-form.ts'

/** The oldest version that the client and the toolkit support. */
export const node20 = nodeOf(20)
export const node22 = nodeOf(22) ?? (isLongForm ? installedNode22() : undefined)

/** The `skip` option of a test that needs Node.js 20. */
export const skipWithoutNode20 = node20 === undefined && 'no Node.js 20'

function nodeOf(major: number): string | undefined {
  return [process.env[`NODE${major}`], '/usr/bin/node', '/usr/local/bin/node'].find(
    (path) =>
      path !== undefined && spawnSync(path, ['--version']).stdout?.toString().startsWith(`v${major}.`),
  )
}

function installedNode22(): string | undefined {
  const folder = join(tmpdir(), 'node-22')
  const name = `node-${process.platform}-${process.arch}`
  try {
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--silent', `${name}@22.23.3`]
    execFileSync('npm', args, { stdio: 'ignore' })
    return join(folder, 'node_modules', name, 'bin/node')
  } catch {
    // The registry cannot be reached, or has no such platform.
    return undefined
  }
}
