// `npm run faults`: the fault tests of `npm test` in their long form, minutes of killing and cutting off.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../test/faults')
process.env.FAULTS = 'long'
// Longer than a file of the ordinary tests may take.
process.argv.splice(
  2,
  Infinity,
  '--timeout=2400',
  ...readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/faults/${name}`),
)
await import('../test/main.ts')
