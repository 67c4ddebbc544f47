// The numbers of docs/benchmarks.md are at most one minor version old: the version that it names is that of
// package.json or of the minor version before.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const advice = 'run npm run bench -- --write on a quiet machine, and commit docs/benchmarks.md'

/** @returns why the numbers are too old for this version, or null. */
export function benchmarkProblem(page: string, version: string): string | null {
  const measured = /^- Version: (\d+)\.(\d+)\.\d+$/m.exec(page)
  if (measured === null) return `docs/benchmarks.md names no version: ${advice}`
  if (/^- Commit: .*with changes$/m.test(page) || page.includes('with `--quick`'))
    return `docs/benchmarks.md is of a trial run or an uncommitted state: ${advice}`
  const [major, minor] = version.split('.').map(Number)
  const [oldMajor, oldMinor] = measured.slice(1).map(Number)
  // The first release of a major version may show the numbers of any last minor version.
  const isFresh = oldMajor === major ? oldMinor >= minor - 1 : oldMajor === major - 1 && minor === 0
  return isFresh
    ? null
    : `docs/benchmarks.md is of version ${oldMajor}.${oldMinor}, this is ${version}: ${advice}`
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '../..')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const problem = benchmarkProblem(readFileSync(join(root, 'docs/benchmarks.md'), 'utf8'), version)
  if (problem !== null) console.error(problem)
  process.exit(problem === null ? 0 : 1)
}
