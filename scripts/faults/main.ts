// `npm run faults`: runs the tests that have a long form in that form, which takes minutes. Names choose
// some: `npm run faults -- constraints payments`.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const root = join(import.meta.dirname, '../..')
const named = process.argv.slice(2)
/** The test files that have a long form. */
const files = ['test', 'packages']
  .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }))
  .filter((file) => /^import \{ isLongForm \} from /m.test(readFileSync(join(root, file), 'utf8')))
  .sort()
const chosen = named.flatMap((name) => files.filter((file) => file.endsWith(`/${name}.test.ts`)))
if (chosen.length < named.length) {
  console.error(`Long forms: ${files.map((file) => /([^/]+)\.test\.ts$/.exec(file)![1]).join(', ')}`)
  process.exit(1)
}
process.env.FAULTS = 'long'
// Longer than the time limit of a file in `npm test`.
process.argv.splice(2, Infinity, '--timeout=2400', ...(named.length > 0 ? chosen : files))
await import('../test/main.ts')
