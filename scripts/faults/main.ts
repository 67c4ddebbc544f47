// `npm run faults`: runs the tests that have a long form in that form, which takes hours. Names of files and
// folders choose some: `npm run faults -- constraints test/contract`.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const root = join(import.meta.dirname, '../..')
const named = process.argv.slice(2)
/** The test files that have a long form. */
const files = ['test', 'packages']
  .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root, exclude: ['**/node_modules'] }))
  .filter((file) => /^import \{ isLongForm \} from /m.test(readFileSync(join(root, file), 'utf8')))
  .sort()
const chosenBy = (name: string): string[] =>
  files.filter((file) => file.endsWith(`/${name}.test.ts`) || file.startsWith(`${name}/`))
const chosen = [...new Set(named.flatMap(chosenBy))]
if (named.some((name) => chosenBy(name).length === 0)) {
  console.error(`Long forms: ${files.map((file) => /([^/]+)\.test\.ts$/.exec(file)![1]).join(', ')}`)
  process.exit(1)
}
process.env.FAULTS = 'long'
// Longer than the time limit of a file in `npm test`.
process.argv.splice(2, Infinity, '--timeout=2400', ...(named.length > 0 ? chosen : files))
await import('../test/main.ts')
