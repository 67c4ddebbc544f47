// Registers the drivers of .gitattributes in the configuration of this clone: generated files are compared by
// their histogram, and merged by generating them again.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const settings = {
  'diff.generated.algorithm': 'histogram',
  'merge.generated.name': 'generates the file from the merged sources',
  'merge.generated.driver': 'PATH="node_modules/.bin:$PATH" node scripts/merge/main.ts %O %A %B %P',
}

/** Does nothing where the settings are there, or where this is no clone. */
export function configureGit(root) {
  const file = join(root, '.git', 'config')
  if (!existsSync(file) || readFileSync(file, 'utf8').includes('scripts/merge/main.ts')) return
  for (const [name, value] of Object.entries(settings))
    spawnSync('git', ['config', '--local', name, value], { cwd: root, stdio: 'ignore' })
}
