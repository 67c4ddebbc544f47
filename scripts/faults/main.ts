// `npm run faults`: runs the fault-injection tests in their long form, which takes minutes.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../test/faults')
process.env.FAULTS = 'long'
// Longer than the time limit of a file in `npm test`.
process.argv.splice(
  2,
  Infinity,
  '--timeout=2400',
  ...readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/faults/${name}`),
)
await import('../test/main.ts')
