// The required tests of the JSON-Schema-Test-Suite: a schema is the body of an operation, and the validation
// of the generated server accepts what the suite calls valid. It runs where JSON_SCHEMA_TEST_SUITE names the
// folder of https://github.com/json-schema-org/JSON-Schema-Test-Suite at commit
// 44401e0c046704b476ec9d2e2fccdaee618f259d.
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import t from 'tap'
import { groupBy } from '@platform-api/openapi/group-by.ts'
import { DocumentError, readOpenapi } from '@platform-api/openapi/read.ts'
import { generateProject } from '../project.ts'

interface Group {
  description: string
  schema: any
  tests: Array<{ description: string; data: unknown; valid: boolean }>
}

const root = resolve(import.meta.dirname, '../../..')
const folder = t.testdir()
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
const readJson = (file: string): any => JSON.parse(readFileSync(file, 'utf8'))

/** The schemas that tests refer to by URL, and the meta-schema of 2020-12. */
function remotesIn(suite: string): Array<{ name: string; schema: any }> {
  const own = globSync('**/*.json', { cwd: join(suite, 'remotes/draft2020-12') }).flatMap((file) => {
    const schema = readJson(join(suite, 'remotes/draft2020-12', file))
    const $id = `http://localhost:1234/draft2020-12/${file}`
    const name = basename(file)
    if (schema.$id === undefined || schema.$id === $id) return [{ name, schema: { $id, ...schema } }]
    return [
      { name, schema },
      { name, schema: { $id, $ref: schema.$id } },
    ]
  })
  const meta = join(root, 'node_modules/ajv/dist/refs/json-schema-2020-12')
  const metaSchemas = globSync('{schema,meta/*}.json', { cwd: meta }).map((file) => ({
    name: `draft/2020-12/${file.replace('.json', '')}`,
    schema: readJson(join(meta, file)),
  }))
  return [...own, ...metaSchemas]
}

/** Those of the schemas that the text names, and those that they name. */
function named(all: Array<{ name: string; schema: any }>, text: string): object {
  const found = new Set<number>()
  for (const texts = [text]; texts.length > 0;) {
    const own = texts.pop()!.replaceAll(/"\$schema":"https:\/\/json-schema.org[^"]+"/g, '')
    for (const [i, { name, schema }] of all.entries())
      if (
        !found.has(i) &&
        (own.includes(name) || (name.includes('/meta/') && own.includes(name.slice(14))))
      ) {
        found.add(i)
        texts.push(JSON.stringify(schema))
      }
  }
  return Object.fromEntries([...found].map((i) => [`remote${i}`, all[i].schema]))
}

interface Run {
  draft: string
  openapi: string
  /** The files, by a pattern. */
  only?: string
  noFormats?: boolean
}

/** The group of each test that has another outcome, as `file: group`. */
async function differences(
  suite: string,
  { draft, openapi, only = '*', noFormats = false }: Run,
): Promise<{ total: number; different: string[] }> {
  const remotes = remotesIn(suite)
  const different: string[] = []
  let total = 0
  for (const file of globSync(`${only}.json`, { cwd: join(suite, 'tests', draft) }).sort()) {
    const groups: Group[] = readJson(join(suite, 'tests', draft, file))
    const at = join(folder, `${draft}${noFormats ? '-no-formats' : ''}`, file)
    mkdirSync(at, { recursive: true })
    const documentOf = (paths: object): string => {
      const schemas = openapi === '3.1.0' ? named(remotes, JSON.stringify(paths)) : {}
      const info = { title: 'The suite', version: '1' }
      return JSON.stringify({ openapi, info, paths, components: { schemas } })
    }
    const paths: Record<string, object> = {}
    for (const [i, group] of groups.entries()) {
      total += group.tests.length
      // The suite means its references from the root of the schema.
      let { schema } = group
      if (openapi === '3.1.0') {
        if (typeof schema === 'object') schema = { $id: `https://suite.invalid/${i}`, ...schema }
      } else if (/"(\$ref|id)"/.test(JSON.stringify(schema))) {
        const text = JSON.stringify(schema).replaceAll('http://localhost:1234', join(suite, 'remotes'))
        writeFileSync(join(at, `schema-${i}.json`), text)
        schema = { $ref: `./schema-${i}.json` }
      }
      const requestBody = { required: true, content: { 'application/json': { schema } } }
      const path = { post: { operationId: `group${i}`, requestBody, responses: {} } }
      writeFileSync(join(at, 'document.json'), documentOf({ [`/${i}`]: path }))
      try {
        await readOpenapi(join(at, 'document.json'))
        paths[`/${i}`] = path
      } catch (error) {
        if (!(error instanceof DocumentError)) throw error
      }
    }
    writeFileSync(join(at, 'document.json'), documentOf(paths))
    const out = join(at, 'server')
    await generateProject(join(at, 'document.json'), out, { noFormats })
    const { requireValid } = await import(join(out, 'generated/validation.ts'))
    const { operations } = await import(join(out, 'generated/operations.ts'))
    for (const [i, { description, tests }] of groups.entries())
      for (const test of tests) {
        const isAccepted = (): boolean | Error => {
          const raw = { path: {}, query: '', headers: {}, cookie: '' }
          try {
            requireValid(operations[`group${i}`], raw, { value: test.data, type: 'application/json' })
            return true
          } catch (error) {
            return (error as { status?: number }).status === 400 ? false : (error as Error)
          }
        }
        if (paths[`/${i}`] === undefined || isAccepted() !== test.valid)
          different.push(`${file}: ${description}`)
      }
  }
  return { total, different }
}

const suite = process.env['JSON_SCHEMA_TEST_SUITE']

/** By reason: how many tests of a group have another outcome. */
type Exceptions = Record<string, string[]>

const byUrl = 'A reference to a URL is opened only with --allow-remote.'
const exceptions: Record<string, Exceptions> = {
  'draft2020-12': {
    'Formats are validated. This file has them as annotations; `--no-formats` does that.': [
      ...'email regex ipv4 ipv6 hostname date date-time time json-pointer relative-json-pointer'.split(' '),
      ...'uri uri-reference uri-template uuid duration'.split(' '),
    ].map((name) => `1 of format.json: ${name} format`),
    'Ajv ignores a property __proto__.': [
      '1 of properties.json: properties whose names are Javascript object property names',
    ],
    'Redocly resolves no pointer with an empty key.': ['2 of ref.json: empty tokens in $ref json-pointer'],
    'A `$schema` does not change the vocabularies.': [
      '1 of vocabulary.json: schema that uses custom metaschema with with no validation vocabulary',
    ],
  },
  draft4: {
    [byUrl]: [
      '2 of definitions.json: validate definition against metaschema',
      '2 of ref.json: remote ref, containing refs itself',
    ],
    'OpenAPI 3.0 has no keyword `id`.': [
      '2 of refRemote.json: base URI change',
      '2 of refRemote.json: base URI change - change folder',
      '2 of refRemote.json: base URI change - change folder in subschema',
      '3 of refRemote.json: root ref in remote ref',
      '2 of refRemote.json: Location-independent identifier in remote ref',
      '2 of ref.json: $ref prevents a sibling id from changing the base uri',
      '2 of ref.json: Recursive references between schemas',
      '2 of ref.json: Location-independent identifier',
      '2 of ref.json: Location-independent identifier with base URI change in subschema',
      '2 of ref.json: id must be resolved against nearest parent, not just immediate parent',
    ],
    'Ajv ignores a property __proto__.': [
      '1 of properties.json: properties whose names are Javascript object property names',
    ],
    'Redocly resolves no pointer with an empty key.': ['2 of ref.json: empty tokens in $ref json-pointer'],
  },
}

/** The numbers in docs/toolkit.md. */
const passed = { 'draft2020-12': '1280 of 1299', draft4: '590 of 618' }
const passedWithoutFormats = '1295 of 1299'

for (const [draft, openapi] of [
  ['draft2020-12', '3.1.0'],
  ['draft4', '3.0.3'],
] as const) {
  if (suite === undefined) continue
  t.test(draft, async (t) => {
    const { total, different } = await differences(suite, { draft, openapi })
    const counted = [...groupBy(different, (group) => group)].map(
      ([group, own]) => `${own.length} of ${group}`,
    )
    t.same(counted.toSorted(), Object.values(exceptions[draft]).flat().toSorted())
    t.equal(`${total - different.length} of ${total}`, passed[draft])
  })
}

if (suite !== undefined)
  t.test('draft2020-12 with --no-formats', async (t) => {
    const run = { draft: 'draft2020-12', openapi: '3.1.0', only: 'format', noFormats: true }
    const { total, different } = await differences(suite, run)
    t.ok(total > 0)
    t.same(different, [])
  })

t.test('the guide has the numbers', async (t) => {
  const guide = readFileSync(join(root, 'docs/toolkit.md'), 'utf8').replaceAll(/\s+/g, ' ')
  for (const number of [...Object.values(passed), passedWithoutFormats]) t.match(guide, number)
})
