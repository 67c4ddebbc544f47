// The types that only a compiler reads are in generated/, but not in git: the set-up of development writes
// them after a clone, and when git has changed their sources.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The sources of the types: files, and folders with all files. The generator writes types.ts last. */
const sources = [
  'generated/openapi.json',
  'generated/prisma/schema.sha256',
  'package-lock.json',
  'scripts/generate',
  'packages/openapi',
  'services/docs/client-types.ts',
]

/** Whether the types are newer than their sources. True where there is no contract. */
export function hasTypes(root) {
  const contract = statSync(join(root, 'generated/openapi.json'), { throwIfNoEntry: false })
  if (contract === undefined) return true
  const types = statSync(join(root, 'generated/types.ts'), { throwIfNoEntry: false })
  return types !== undefined && sources.every((source) => newest(join(root, source)) <= types.mtimeMs)
}

/** When the file, or the newest file in the folder, was written. */
function newest(path) {
  const found = statSync(path)
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(...readdirSync(path).map((name) => newest(join(path, name))))
}

/** A mistake in spec/ is printed, and left to the command that was called. */
export function writeTypes(root, node) {
  console.log('Writing the types of generated/ ...')
  spawnSync(node, ['scripts/generate/main.ts', '--types'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
