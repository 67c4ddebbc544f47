// The table of id prefixes in the guide to versions: a row for each prefix of the code, and no other.
// reads: infra
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { readGuide } from '../support/generator/guides.ts'

const root = resolve(import.meta.dirname, '../..')
const [, union] = /export type IdPrefix =\n([^]*?)\n\n/.exec(
  readFileSync(join(root, 'infra/ids.ts'), 'utf8'),
)!
const ofCode = [...union.matchAll(/'(\w+)'/g)].map(([, prefix]) => prefix).sort()
const ofGuide = [...readGuide('versioning').matchAll(/^\| `(\w+)_` /gm)].map(([, prefix]) => prefix).sort()

t.test('the guide has a row for each prefix', async (t) => {
  t.ok(ofCode.length > 30)
  t.same(ofGuide, ofCode)
})

t.test('the contract has no other prefix', async (t) => {
  const patterns = JSON.stringify(contract).matchAll(
    /\^(?:\(([\w|]+)\)|([a-z]+))_\[0-7\]\[0-9a-hjkmnp-tv-z\]/g,
  )
  const prefixes = new Set([...patterns].flatMap(([, several, one]) => several?.split('|') ?? [one]))
  t.ok(prefixes.size > 25)
  t.same(
    [...prefixes].filter((prefix) => !ofGuide.includes(prefix)),
    [],
  )
})
