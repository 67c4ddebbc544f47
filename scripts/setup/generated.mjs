// What a set-up writes into generated/, because it is not in git: the compiled validators and serializers for
// every command, and for development the types that only a compiler reads. Both are written after a clone,
// and when git has changed their sources.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Files, or folders with all their files. */
const sources = {
  compiled: ['generated/schemas.json', 'infra/validation/formats.ts', 'package-lock.json', 'scripts/compile'],
  types: [
    'generated/openapi.json',
    'generated/prisma/schema.sha256',
    'package-lock.json',
    'scripts/generate',
    'packages/openapi',
    'services/docs/client-types.ts',
  ],
}

/** Whether the files are newer than their sources. True where there is no contract. */
export function hasCompiled(root) {
  return (
    isNewer(root, 'generated/validators.js', 'compiled') &&
    isNewer(root, 'generated/serializers.js', 'compiled')
  )
}

/** @returns whether it succeeded. The problem has been printed. */
export function writeCompiled(root, node) {
  console.log('Compiling the validators and serializers ...')
  return run(root, node, ['scripts/compile/main.ts'])
}

/** The generator writes types.ts last. */
export function hasTypes(root) {
  return isNewer(root, 'generated/types.ts', 'types')
}

/** A mistake in spec/ is printed, and left to the command that was called. */
export function writeTypes(root, node) {
  console.log('Writing the types of generated/ ...')
  run(root, node, ['scripts/generate/main.ts', '--types'])
}

function run(root, node, args) {
  return spawnSync(node, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

function isNewer(root, file, kind) {
  if (newest(join(root, sources[kind][0])) === 0) return true
  const written = newest(join(root, file))
  return sources[kind].every((source) => newest(join(root, source)) <= written)
}

/** When the file, or the newest file in the folder, was written; 0 without it. */
function newest(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(...readdirSync(path).map((name) => newest(join(path, name))))
}
