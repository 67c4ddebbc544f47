// Every cell of the table "Style Values" (OpenAPI 3.1.1, 4.8.12.5): the text of the standard, through the
// functions that all tools share, a generated server, a mock, and the requests of the contract tests.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { requestTarget } from '@platform-api/contract/sender.ts'
import { encodeParameters } from '../../client/request-parameters.ts'
import { rowOf } from '@platform-api/generate/client-table.ts'
import { generateProject } from '@platform-api/generate/project.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { operationsOf, type Operation, type Parameter } from '@platform-api/openapi/document.ts'
import { readParameters, writeParameter } from '@platform-api/openapi/parameters.ts'
import { asOpenapi31 } from '@platform-api/openapi/read.ts'

const values = { primitive: 'blue', array: ['blue', 'black', 'brown'], object: { R: 100, G: 200, B: 150 } }
type Kind = keyof typeof values
const schemas: Record<Kind, object> = {
  primitive: { type: 'string' },
  array: { type: 'array', items: { type: 'string' } },
  object: {
    type: 'object',
    properties: Object.fromEntries(['R', 'G', 'B'].map((key) => [key, { type: 'integer' }])),
  },
}
const kinds = Object.keys(values) as Kind[]

/** `in`, `style`, `explode`, and the texts of a primitive value, an array and an object. */
const rows: Array<[Parameter['in'], string, boolean, ...Array<string | null>]> = [
  ['path', 'matrix', false, ';color=blue', ';color=blue,black,brown', ';color=R,100,G,200,B,150'],
  ['path', 'matrix', true, ';color=blue', ';color=blue;color=black;color=brown', ';R=100;G=200;B=150'],
  ['path', 'label', false, '.blue', '.blue,black,brown', '.R,100,G,200,B,150'],
  ['path', 'label', true, '.blue', '.blue.black.brown', '.R=100.G=200.B=150'],
  ['path', 'simple', false, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
  ['path', 'simple', true, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
  ['header', 'simple', false, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
  ['header', 'simple', true, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
  ['query', 'form', false, 'color=blue', 'color=blue,black,brown', 'color=R,100,G,200,B,150'],
  ['query', 'form', true, 'color=blue', 'color=blue&color=black&color=brown', 'R=100&G=200&B=150'],
  ['query', 'spaceDelimited', false, null, 'color=blue%20black%20brown', 'color=R%20100%20G%20200%20B%20150'],
  ['query', 'pipeDelimited', false, null, 'color=blue%7Cblack%7Cbrown', 'color=R%7C100%7CG%7C200%7CB%7C150'],
  ['query', 'deepObject', true, null, null, 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
  ['cookie', 'form', false, 'color=blue', 'color=blue,black,brown', 'color=R,100,G,200,B,150'],
  ['cookie', 'form', true, 'color=blue', 'color=blue&color=black&color=brown', 'R=100&G=200&B=150'],
  ['cookie', 'cookie', true, 'color=blue', 'color=blue; color=black; color=brown', 'R=100; G=200; B=150'],
]

interface Cell {
  id: string
  in: Parameter['in']
  style: string
  explode: boolean
  kind: Kind
  text: string
}
const cells: Cell[] = rows.flatMap(([where, style, explode, ...texts]) =>
  texts.flatMap((text, i) =>
    text === null
      ? []
      : [{ id: `${where}_${style}_${explode}_${kinds[i]}`, in: where, style, explode, kind: kinds[i], text }],
  ),
)

const document = asOpenapi31({
  openapi: '3.1.0',
  info: { title: 'Styles', version: '1' },
  paths: Object.fromEntries(
    cells.map(({ id, in: where, style, explode, kind }) => [
      `/${id}${where === 'path' ? '/{color}' : ''}`,
      {
        get: {
          operationId: id,
          tags: ['cells'],
          parameters: [{ name: 'color', in: where, required: true, style, explode, schema: schemas[kind] }],
          responses: {
            '200': { description: 'The value.', content: { 'application/json': { schema: {} } } },
          },
        },
      },
    ]),
  ),
})
const operations = new Map(operationsOf(document).map((operation) => [operation.id, operation]))
const parameterOf = ({ id }: Cell): Parameter => operations.get(id)!.parameters[0]

/** The request with the text in its place. */
function requestOf({ id, in: where, text }: Cell, suffix = text) {
  return {
    url: `/${id}${where === 'path' ? `/${suffix}` : where === 'query' ? `?${suffix}` : ''}`,
    headers: where === 'header' ? { color: suffix } : where === 'cookie' ? { cookie: suffix } : {},
  }
}

const folder = t.testdir({ 'styles.json': JSON.stringify(document) })
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
mkdirSync(join(folder, 'server/handlers'), { recursive: true })
writeFileSync(
  join(folder, 'server/handlers/cells.ts'),
  `const echo = async ({ path, query, headers, cookies }: any): Promise<any> => ({
    status: 200,
    body: path.color ?? query.color ?? cookies.color ?? headers.color,
  })
export const cells = {\n${cells.map(({ id }) => `  ${id}: echo,`).join('\n')}\n}\n`,
)
await generateProject(join(folder, 'styles.json'), join(folder, 'server'))
const { createServer } = await import(join(folder, 'server/generated/server.ts'))
const server = await createServer()
const mock = await createMock({ document })
t.teardown(() => Promise.all([server.close(), mock.close()]))

for (const cell of cells)
  t.test(`${cell.id}: ${cell.text}`, async (t) => {
    t.equal(writeParameter(parameterOf(cell), values[cell.kind]), cell.text, 'is written')
    const answer = await server.inject(requestOf(cell))
    t.same([answer.statusCode, answer.json()], [200, values[cell.kind]], 'is read by a generated server')
    const mocked = await mock.inject(requestOf(cell))
    t.equal(mocked.statusCode, 200, mocked.body)
    const own: Operation = operations.get(cell.id)!
    const place = cell.in === 'cookie' ? 'cookies' : cell.in === 'header' ? 'headers' : cell.in
    const sent = encodeParameters(cell.id, rowOf(document, own), { [place]: { color: values[cell.kind] } })
    const inRequest = {
      path: sent.path.slice(cell.id.length + 2),
      query: sent.query,
      header: sent.headers.color,
      cookie: sent.headers.Cookie,
    }
    t.equal(inRequest[cell.in], cell.text, 'is sent by a generated client')
    if (cell.style === 'label' && cell.kind === 'primitive')
      t.throws(() => encodeParameters(cell.id, rowOf(document, own), { path: { color: '.' } }), TypeError)
    if (cell.in === 'path' || cell.in === 'query') {
      const parts = { path: {}, query: {}, [cell.in]: { color: values[cell.kind] } }
      t.equal(requestTarget(own, parts), requestOf(cell).url, 'is sent by the contract tests')
    }
    if (cell.kind !== 'object') return
    const wrong = requestOf(cell, cell.text.replaceAll('100', 'much'))
    t.equal((await server.inject(wrong)).statusCode, cell.in === 'path' ? 404 : 400, 'is validated')
    t.equal((await mock.inject(wrong)).statusCode, cell.in === 'path' ? 404 : 400)
  })

t.test('any text is read as it was written', async (t) => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
  // A header field has no escapes.
  const token = fc.stringMatching(/^[a-z0-9 ]{1,8}$/).filter((each) => each.trim() === each)
  // OpenAPI has no escape for the delimiters of these styles.
  const undelimited = fc.stringMatching(/^[a-z,+%&=]{1,8}$/)
  for (const cell of cells) {
    const parameter: Parameter = { ...parameterOf(cell), isText: true }
    const word = cell.in === 'header' ? token : cell.style.endsWith('Delimited') ? undelimited : text
    const value = {
      primitive: word,
      array: fc.array(word, { minLength: 2, maxLength: 4 }),
      object: fc.record({ R: word, G: word }, { noNullPrototype: true }),
    }[cell.kind]
    const isReadBack = fc.property(value, (given) => {
      const written = writeParameter(parameter, given)
      const read = readParameters([parameter], {
        path: cell.in === 'path' ? { color: written } : {},
        query: cell.in === 'query' ? written : '',
        headers: { [cell.in === 'header' ? 'color' : 'cookie']: written },
      })
      return isDeepStrictEqual(read[cell.in].color, given)
    })
    t.doesNotThrow(() => fc.assert(isReadBack, { numRuns: 30, seed: 1 }), cell.id)
  }
})

t.test('objects inside of lists and objects are JSON', async (t) => {
  const point = { type: 'object', properties: { x: { type: 'integer' } } }
  const list = { type: 'array', items: point }
  for (const [style, explode, schema, value] of [
    ['form', true, list, [{ x: 1, y: 'a,b' }]],
    ['form', false, list, [{ x: 1, y: 'a,b' }, { x: 2 }]],
    ['deepObject', true, { type: 'object', properties: { at: point } }, { at: { x: 1 } }],
  ] as const) {
    const parameters = [{ name: 'points', in: 'query', style, explode, schema }]
    const [operation] = operationsOf({ paths: { '/points': { get: { parameters } } } })
    const query = writeParameter(operation.parameters[0], value)
    t.same(readParameters(operation.parameters, { path: {}, query, headers: {} }).query, { points: value })
  }
  const [{ parameters }] = operationsOf({
    paths: { '/points': { get: { parameters: [{ name: 'points', in: 'query', schema: list }] } } },
  })
  t.same(readParameters(parameters, { path: {}, query: 'points={x', headers: {} }).query, { points: ['{x'] })
})

t.test('content is JSON; an empty value; undeclared parameters; ignored header fields', async (t) => {
  const [operation] = operationsOf({
    paths: {
      '/json': {
        get: {
          parameters: [
            { name: 'filter', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
            { name: 'Accept', in: 'header', required: true, schema: { enum: ['a'] } },
            { name: 'content-type', in: 'header', schema: { enum: ['a'] } },
            { name: 'Authorization', in: 'header', required: true, schema: {} },
          ],
        },
      },
    },
  })
  t.same(
    operation.parameters.map(({ name }) => name),
    ['filter'],
  )
  const read = (query: string) => readParameters(operation.parameters, { path: {}, query, headers: {} })
  t.same(read('filter=%7B%22a%22%3A1%7D&more=1&more=2+3').query, { filter: { a: 1 }, more: ['1', '2 3'] })
  t.same(
    read('filter=nonsense').notJson.map(({ name }) => name),
    ['filter'],
  )
  t.strictSame(Object.keys(read('__proto__=1&filter=%7B%7D').query), ['filter', '__proto__'])
})
