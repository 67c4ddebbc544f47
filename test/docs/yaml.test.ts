// JSON as YAML: a parser reads what was written.
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { toYaml } from '../../services/docs/yaml.ts'

const read = (text: string): unknown => parse(text, { version: '1.2', maxAliasCount: 0 })

t.test('the published document', async (t) => {
  const document = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../generated/openapi.json'), 'utf8'),
  ) as object
  const written = toYaml(document)
  t.strictSame(read(written), document)
  t.match(written, '\n  title: Platform API\n', 'a text without signs of YAML needs no quotes')
  t.match(written, /\n {2}description: \|\n {4}A REST API/, 'several lines are a block')
})

t.test('any object', async (t) => {
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '',
      ' ',
      'a',
      'yes',
      'null',
      '- a',
      'a: b',
      'a #b',
      '1',
      '1e3',
      '---',
      '~',
      '<<',
      '\u0085',
    ),
  )
  const text = fc.array(line).map((parts) => parts.join('\n'))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { withCrossShrink: true },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(text, tie('value')),
    ),
  }))
  const property = fc.property(fc.dictionary(text, value, { minKeys: 1 }), (object) => {
    const json = JSON.parse(JSON.stringify(object)) as object
    return isDeepStrictEqual(read(toYaml(json)), json)
  })
  t.equal(fc.check(property, { numRuns: 500 }).counterexample, null)
})
