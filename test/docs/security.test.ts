// The threat model names tests; they exist.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

t.test('every test that docs/security.md names exists', (t) => {
  const text = readFileSync(join(root, 'docs/security.md'), 'utf8')
  const named = [...text.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path]) => path!)
  t.ok(named.length > 40)
  t.same(
    named.filter((path) => !existsSync(join(root, path))),
    [],
  )
  t.end()
})
