// No tool drops a keyword of a schema silently: it carries the keyword out, or the document gets a notice.
// The table in docs/toolkit.md is this test's outcome.
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { getTypes } from '@redocly/openapi-core'
import fc from 'fast-check'
import t from 'tap'
import ts from 'typescript'
import { changesBetween } from '@platform-api/changes/located-change.ts'
import { mutationsOf } from '@platform-api/contract/mutations.ts'
import { createValidation, type Validation } from '@platform-api/contract/validation.ts'
import { valuesOf } from '@platform-api/contract/values.ts'
import { lintOpenapi } from '@platform-api/lint/lint.ts'
import { generateProject } from '@platform-api/generate/project.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { addDiscriminatorValues } from '@platform-api/openapi/discriminators.ts'
import { noticesOf } from '@platform-api/openapi/faults.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'

/** A schema with the keyword, the same without it, a valid value, and one that only the keyword refuses. */
interface Case {
  keyword: string
  version?: string
  with: any
  without: any
  valid: unknown
  invalid?: unknown
  /** The notice for what no tool carries out. */
  notice?: RegExp
}

const text = { type: 'string' }
const number = { type: 'number' }
const list = { type: 'array' }
const object = { type: 'object' }
const one = (
  keyword: string,
  base: object,
  value: unknown,
  valid: unknown,
  invalid?: unknown,
  version?: string,
): Case => ({ keyword, with: { ...base, [keyword]: value }, without: base, valid, invalid, version })
const withName = { type: 'object', properties: { a: text, b: number } }

/** An object literal must not have a `then`. */
const single = (keyword: string, value: object): object => ({ [keyword]: value })

const cases: Case[] = [
  // Core.
  {
    keyword: '$id',
    with: { $id: 'https://x.example/a', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: text } },
    without: { properties: { a: {} } },
    valid: { a: 'x' },
    invalid: { a: 1 },
  },
  one('$schema', text, 'https://json-schema.org/draft/2020-12/schema', 'x'),
  { keyword: '$ref', with: { $ref: '#/components/schemas/Text' }, without: {}, valid: 'x', invalid: 1 },
  { keyword: '$anchor', with: { $ref: '#anchored' }, without: {}, valid: 'x', invalid: 1 },
  {
    keyword: '$dynamicRef',
    with: { $ref: 'https://x.example/texts' },
    without: { type: 'array' },
    valid: ['x'],
    invalid: [1],
  },
  {
    keyword: '$defs',
    with: {
      $id: 'https://x.example/defs',
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: text },
    },
    without: { type: 'object', properties: { a: {} } },
    valid: { a: 'x' },
    invalid: { a: 1 },
  },
  {
    keyword: '$dynamicAnchor',
    with: { $ref: '#anchored2' },
    without: {},
    valid: 'x',
    invalid: 1,
  },
  one('$comment', text, 'A comment.', 'x'),
  { ...one('$vocabulary', text, { 'https://x.example': true }, 'x'), notice: /^\$vocabulary is not/ },
  { ...one('$recursiveRef', {}, '#', 'x'), notice: /^\$recursiveRef is not/ },
  one('$recursiveAnchor', text, true, 'x'),
  {
    keyword: 'definitions',
    with: { type: 'object', properties: { a: { $ref: '#/components/schemas/Old/definitions/a' } } },
    without: { type: 'object', properties: { a: {} } },
    valid: { a: 'x' },
    invalid: { a: 1 },
  },
  // Applicators.
  one('prefixItems', list, [text, number], ['x', 1], [1, 'x']),
  one('items', list, text, ['x'], [1]),
  one('contains', list, { const: 1 }, [1, 2], [2]),
  one('additionalProperties', withName, false, { a: 'x' }, { c: 1 }),
  one('properties', object, { a: text }, { a: 'x' }, { a: 1 }),
  one('patternProperties', object, { '^a': text }, { ab: 'x' }, { ab: 1 }),
  one('dependentSchemas', withName, { a: { required: ['b'] } }, { a: 'x', b: 1 }, { a: 'x' }),
  one('propertyNames', object, { maxLength: 2 }, { ab: 1 }, { abc: 1 }),
  {
    keyword: 'if',
    with: { ...withName, if: { required: ['a'] }, ...single('then', { required: ['b'] }) },
    without: withName,
    valid: { a: 'x', b: 1 },
    invalid: { a: 'x' },
  },
  {
    keyword: 'then',
    with: { ...withName, if: { required: ['a'] }, ...single('then', { required: ['b'] }) },
    without: { ...withName, if: { required: ['a'] } },
    valid: { a: 'x', b: 1 },
    invalid: { a: 'x' },
  },
  {
    keyword: 'else',
    with: { ...withName, if: { required: ['a'] }, else: { required: ['b'] } },
    without: { ...withName, if: { required: ['a'] } },
    valid: { b: 1 },
    invalid: {},
  },
  one('allOf', withName, [{ required: ['a'] }], { a: 'x' }, {}),
  one('anyOf', {}, [text, number], 'x', true),
  one('oneOf', {}, [text, number], 1, true),
  one('not', text, { const: 'y' }, 'x', 'y'),
  one('unevaluatedItems', { type: 'array', prefixItems: [text] }, false, ['x'], ['x', 1]),
  one('unevaluatedProperties', withName, false, { a: 'x' }, { c: 1 }),
  // Validation.
  one('type', {}, 'string', 'x', 1),
  one('enum', text, ['x', 'y'], 'x', 'z'),
  one('const', {}, 'x', 'x', 'z'),
  one('multipleOf', number, 0.01, 19.99, 0.015),
  one('maximum', number, 5, 5, 6),
  one('exclusiveMaximum', number, 5, 4, 5),
  one('minimum', number, 5, 5, 4),
  one('exclusiveMinimum', number, 5, 6, 5),
  one('maxLength', text, 3, 'abc', 'abcd'),
  one('minLength', text, 3, 'abc', 'ab'),
  one('pattern', text, '^a', 'ab', 'b'),
  one('maxItems', list, 1, [1], [1, 2]),
  one('minItems', list, 1, [1], []),
  one('uniqueItems', list, true, [1, 2], [1, 1]),
  {
    keyword: 'maxContains',
    with: { ...list, contains: { const: 1 }, maxContains: 1 },
    without: { ...list, contains: { const: 1 } },
    valid: [1],
    invalid: [1, 1],
  },
  {
    keyword: 'minContains',
    with: { ...list, contains: { const: 1 }, minContains: 2 },
    without: { ...list, contains: { const: 1 } },
    valid: [1, 1],
    invalid: [1],
  },
  one('maxProperties', object, 1, { a: 1 }, { a: 1, b: 1 }),
  one('minProperties', object, 1, { a: 1 }, {}),
  one('required', withName, ['a'], { a: 'x' }, {}),
  one('dependencies', withName, { a: ['b'] }, { a: 'x', b: 1 }, { a: 'x' }),
  one('dependentRequired', withName, { a: ['b'] }, { a: 'x', b: 1 }, { a: 'x' }),
  // Annotations.
  one('title', text, 'A title', 'x'),
  one('description', text, 'A description.', 'x'),
  one('default', text, 'x', 'x'),
  one('deprecated', text, true, 'x'),
  {
    keyword: 'readOnly',
    with: { ...withName, properties: { a: { ...text, readOnly: true } }, required: ['a'] },
    without: { ...withName, properties: { a: text }, required: ['a'] },
    valid: {},
  },
  {
    keyword: 'writeOnly',
    with: { ...withName, properties: { a: { ...text, writeOnly: true } }, required: ['a'] },
    without: { ...withName, properties: { a: text }, required: ['a'] },
    valid: { a: 'x' },
  },
  one('examples', text, ['x'], 'x'),
  one('format', text, 'date', '2026-01-01', 'x'),
  one('contentEncoding', text, 'base64', 'eA=='),
  one('contentMediaType', text, 'application/json', '1'),
  {
    ...one('contentSchema', { ...text, contentMediaType: 'application/json' }, number, '1'),
    notice: /^contentSchema is not/,
  },
  {
    ...one('$schema', text, 'http://json-schema.org/draft-07/schema#', 'x'),
    keyword: '$schema of another dialect',
    notice: /^The dialect/,
  },
  // OpenAPI.
  {
    keyword: 'discriminator',
    with: {
      oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
      discriminator: { propertyName: 'kind' },
    },
    without: { oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }] },
    valid: { kind: 'Cat' },
    invalid: { kind: 'Fish' },
  },
  { ...one('xml', text, { name: 'x' }, 'x'), notice: /^xml is not applied/ },
  {
    ...one('xml.nodeType', text, 1, 'x', undefined, '3.2.0'),
    with: { ...text, xml: { nodeType: 'text' } },
    notice: /^xml is not/,
  },
  one('externalDocs', text, { url: 'https://x.example' }, 'x'),
  one('example', text, 'x', 'x'),
  one('nullable', text, true, null, undefined, '3.0.3'),
  {
    keyword: 'exclusiveMinimum: true',
    version: '3.0.3',
    with: { ...number, minimum: 5, exclusiveMinimum: true },
    without: { ...number, minimum: 5 },
    valid: 6,
    invalid: 5,
  },
  // Constructs.
  {
    keyword: 'allOf without a value',
    with: { allOf: [text, number] },
    without: {},
    valid: undefined,
    invalid: 'x',
    notice: /^An allOf has no value: it has the types/,
  },
  {
    keyword: 'recursive $ref',
    with: { $ref: '#/components/schemas/Tree' },
    without: {},
    valid: { inner: {} },
    invalid: { inner: 1 },
  },
  {
    keyword: '$ref with siblings',
    with: { $ref: '#/components/schemas/Open', properties: { c: text }, required: ['c'] },
    without: { $ref: '#/components/schemas/Open' },
    valid: { c: 'x' },
    invalid: {},
  },
  {
    keyword: 'oneOf without a discriminator',
    with: { oneOf: [{ $ref: '#/components/schemas/Small' }, { $ref: '#/components/schemas/Large' }] },
    without: {},
    valid: { size: 'x' },
    invalid: { size: 'x', age: 1 },
  },
  {
    keyword: 'discriminator.defaultMapping',
    version: '3.2.0',
    with: {
      oneOf: [{ $ref: '#/components/schemas/Cat' }],
      discriminator: { propertyName: 'kind', defaultMapping: 'Cat' },
    },
    without: { oneOf: [{ $ref: '#/components/schemas/Cat' }], discriminator: { propertyName: 'kind' } },
    valid: { kind: 'Cat' },
    notice: /^defaultMapping/,
  },
  { keyword: 'type list', with: { type: ['string', 'null'] }, without: {}, valid: null, invalid: 1 },
  {
    keyword: 'nullable beside $ref',
    version: '3.0.3',
    with: { $ref: '#/components/schemas/Text', nullable: true },
    without: { $ref: '#/components/schemas/Text' },
    valid: null,
  },
]
const shared = {
  Text: text,
  Open: object,
  Small: { type: 'object', required: ['size'], properties: { size: text } },
  Large: { type: 'object', required: ['size', 'age'], properties: { size: text, age: number } },
  Old: { definitions: { a: text } },
  Dynamic: { $dynamicAnchor: 'anchored2', type: 'string' },
  Anchored: { $anchor: 'anchored', type: 'string' },
  Tree: { type: 'object', properties: { inner: { $ref: '#/components/schemas/Tree' } } },
  Cat: { type: 'object', required: ['kind'], properties: { kind: text } },
  Dog: { type: 'object', required: ['kind', 'age'], properties: { kind: text, age: number } },
  Generic: {
    $id: 'https://x.example/list',
    type: 'array',
    items: { $dynamicRef: '#item' },
    $defs: { item: { $dynamicAnchor: 'item' } },
  },
  Texts: {
    $id: 'https://x.example/texts',
    $ref: 'list',
    $defs: { item: { $dynamicAnchor: 'item', type: 'string' } },
  },
}

const folder = t.testdir()
const root = resolve(import.meta.dirname, '../../..')
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))

interface Side {
  document: any
  /** The type of each case, in answers and in requests. */
  types: Array<Map<string, string>>
  accepts: (i: number, value: unknown) => boolean
  validation: Validation
  mock: Awaited<ReturnType<typeof createMock>>
}

const headers = { 'content-type': 'application/json' }
const noIds = { ids: () => [], named: () => [] }

const content = (name: string): object => ({
  'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
})
async function measure(version: string): Promise<Array<[keyword: string, cells: string[]]>> {
  const own = cases.filter((each) => (each.version ?? '3.1.0') === version)
  const documentOf = (key: 'with' | 'without'): object => ({
    openapi: version,
    info: { title: 'Keywords', version: '1' },
    paths: Object.fromEntries(
      own.map((each, i) => [
        `/${i}`,
        {
          post: {
            operationId: `case${i}`,
            requestBody: { required: true, content: content(`Case${i}`) },
            responses: { '200': { description: 'Done.', content: content(`Case${i}`) } },
          },
        },
      ]),
    ),
    components: {
      schemas: {
        ...Object.fromEntries(own.map((each, i) => [`Case${i}`, each[key]])),
        ...(version === '3.0.3' ? { Text: text } : shared),
      },
    },
  })
  const files = {
    with: join(folder, `with-${version}.json`),
    without: join(folder, `without-${version}.json`),
  }
  const sides = {} as Record<'with' | 'without', Side>
  for (const key of ['with', 'without'] as const) {
    writeFileSync(files[key], JSON.stringify(documentOf(key)))
    const document = await readOpenapi(files[key])
    addDiscriminatorValues(document)
    const out = join(folder, `${key}-${version}`)
    await generateProject(files[key], out)
    const { requireValid } = await import(join(out, 'generated/validation.ts'))
    const { operations } = await import(join(out, 'generated/operations.ts'))
    const accepts = (i: number, value: unknown): boolean => {
      try {
        requireValid(
          operations[`case${i}`],
          { path: {}, query: '', headers: {}, cookie: '' },
          { value: structuredClone(value), type: 'application/json' },
        )
        return true
      } catch (error: any) {
        if (error.status !== 400) throw error
        return false
      }
    }
    sides[key] = {
      document,
      types: typesIn(out),
      accepts,
      validation: createValidation(document, { closed: false }),
      mock: await createMock({ document }),
    }
  }
  const changes = await changesBetween(folder, [files.without, files.with])
  const notices = noticesOf(sides.with.document)
  const rows: Array<[keyword: string, cells: string[]]> = []
  for (const [i, each] of own.entries()) {
    const { with: W, without: O } = sides
    const pointer = `#/components/schemas/Case${i}`
    const allows = ({ validation }: Side, value: unknown): boolean =>
      validation.asked(pointer, value).length === 0
    const [canSend, canRefuse] = [each.valid !== undefined, each.invalid !== undefined]
    const post = (side: Side, value: unknown) =>
      side.mock.inject({ method: 'POST', url: `/${i}`, payload: JSON.stringify(value), headers })
    const samples = ({ document }: Side): unknown[] => {
      const values = valuesOf(document, document.components.schemas[`Case${i}`], noIds)
      return values === null ? [] : fc.sample(values, { numRuns: 20, seed: 1 })
    }

    const hasType = W.types.some((of, n) => of.get(`Case${i}`) !== O.types[n].get(`Case${i}`))
    const isValidated = canRefuse
      ? !W.accepts(i, each.invalid) && O.accepts(i, each.invalid)
      : !O.accepts(i, each.valid)
    if (canSend) t.ok(W.accepts(i, each.valid), `${each.keyword}: the server takes a valid value`)

    let isMocked = canRefuse
      ? (await post(W, each.invalid)).statusCode === 400 && (await post(O, each.invalid)).statusCode === 200
      : (await post(O, each.valid)).statusCode === 400
    if (canSend) {
      const answer = await post(W, each.valid)
      t.equal(answer.statusCode, 200, `${each.keyword}: the mock takes a valid value`)
      t.same(W.validation.answered(pointer, answer.json()), [], `${each.keyword}: the mock answers one`)
      isMocked ||= answer.body !== (await post(O, each.valid)).body
    }

    const sampled = samples(W)
    const isSent = sampled.some((value) => allows(W, value))
    const isBroken =
      canRefuse &&
      canSend &&
      mutationsOf(W.document, W.document.components.schemas[`Case${i}`], each.valid).some(
        ({ value }) => !allows(W, value) && allows(O, value),
      )
    const isTested = isSent && (canRefuse ? isBroken : JSON.stringify(sampled) !== JSON.stringify(samples(O)))
    const isCompared = changes.some(({ subject }) => subject === `POST /${i}`)

    const isNoticed = each.notice !== undefined && notices.some((notice) => each.notice!.test(notice))
    if (each.notice !== undefined) t.ok(isNoticed, `${each.keyword}: ${each.notice}`)
    const cell = (isDone: boolean): string => (isDone ? 'yes' : isNoticed ? 'notice' : '–')
    const type = !hasType && isValidated ? 'wider' : cell(hasType)
    const cells = [type, ...[isValidated, isMocked, isTested, isCompared].map(cell)]
    if (canRefuse) t.notOk(cells.includes('–'), `${each.keyword} is dropped: ${cells.join()}`)
    rows.push([each.keyword, cells])
  }
  for (const key of ['with', 'without'] as const) await sides[key].mock.close()
  return rows
}

/** The types of answers and of requests, by the names of the schemas, with their comments. */
function typesIn(out: string): Array<Map<string, string>> {
  const [answers, requests] = ['types', 'request-types'].map((name) => {
    const found = new Map<string, string>()
    const visit = (node: ts.Node): void => {
      if (ts.isPropertySignature(node) && /^Case\d+$/.test(node.name.getText()))
        found.set(node.name.getText(), node.getFullText())
      else ts.forEachChild(node, visit)
    }
    const text = readFileSync(join(out, `generated/${name}.ts`), 'utf8')
    visit(ts.createSourceFile('types.ts', text, ts.ScriptTarget.Latest, true))
    return found
  })
  return [answers, requests.size === 0 ? answers : requests]
}

const rows = (await Promise.all(['3.1.0', '3.0.3', '3.2.0'].map(measure))).flat()

t.test('the table in the guide is this outcome', async (t) => {
  const table = rows.map(([keyword, cells]) => `\`${keyword}\` | ${cells.join(' | ')}`)
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/toolkit.md'), 'utf8')
  const section = guide.slice(guide.indexOf('## Keywords'), guide.indexOf('## Profiles'))
  const found = [...section.matchAll(/^\| (`.*\S) +\|$/gm)].map(([, row]) => row.replaceAll(/ +/g, ' '))
  t.same(found, table, table.map((row) => `| ${row} |`).join(' ~ '))
})

t.test('the table has every keyword', async (t) => {
  const rows = new Set(cases.map(({ keyword }) => keyword))
  const folder = join(root, 'node_modules/ajv/dist/refs/json-schema-2020-12')
  const ofDialect = globSync('{schema,meta/*}.json', { cwd: folder }).flatMap((file) =>
    Object.keys(JSON.parse(readFileSync(join(folder, file), 'utf8')).properties),
  )
  const ofOpenapi = (['oas3_0', 'oas3_1', 'oas3_2'] as const).flatMap((version) => {
    const { Schema } = getTypes(version)
    return Object.keys(Schema!.properties).filter((name) => !name.startsWith('x-'))
  })
  // `id` is a keyword of draft 4, and `summary` one of references.
  const foreign = new Set(['id', 'summary'])
  t.same(
    [...ofDialect, ...ofOpenapi].filter((name) => !rows.has(name) && !foreign.has(name)),
    [],
  )
})

t.test('lint and changes show the notices', async (t) => {
  const [before, after] = ['without', 'with'].map((key) => join(folder, `${key}-3.1.0.json`))
  const shown: string[] = []
  await changesBetween(folder, [before, after], { notice: (sentence) => shown.push(sentence) })
  const problems = await lintOpenapi(after)
  const linted = problems.filter(({ rule }) => rule === 'readable/notice').map(({ message }) => message)
  t.same(linted, shown)
  t.ok(shown.length > 3)
})
