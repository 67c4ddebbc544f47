// The errors of a generated server have the shape that most errors of the document have.
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { operationsOf } from '@platform-api/openapi/document.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'
import { emitErrors } from '../errors.ts'
import { generateProject } from '../project.ts'

const text = { type: 'string' }
const object = (properties: object, required = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  required,
})
const json = (schema: object, type = 'application/json'): object => ({
  description: 'It.',
  content: { [type]: { schema } },
})
const documentWith = (error: object, type?: string, others: object = {}): object => ({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  paths: {
    '/pets': {
      get: {
        operationId: 'listPets',
        parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer' } }],
        responses: { 200: json(object({})), 400: json(error, type), default: json(error, type), ...others },
      },
    },
  },
})
const standard = readFileSync(join(import.meta.dirname, '../template/written-once/errors.ts'), 'utf8')
const folder = t.testdir()
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
let files = 0

async function sourceFor(document: object): Promise<string> {
  const file = join(folder, `${++files}.json`)
  writeFileSync(file, JSON.stringify(document))
  const read = await readOpenapi(file)
  return emitErrors(read, operationsOf(read), standard)
}

const shapes: Array<[name: string, error: object, body: object]> = [
  [
    'a status and a message',
    object({ code: { type: 'integer' }, message: text }),
    { code: 404, message: 'No' },
  ],
  [
    'an error in an object, with parts',
    object({
      error: { allOf: [object({ type: { const: 'error' } }), object({ code: text, detail: text })] },
    }),
    { error: { type: 'error', code: '404', detail: 'No' } },
  ],
  [
    'a list, and what the error need not have',
    object(
      {
        success: { type: 'boolean' },
        errors: { type: 'array', items: object({ reason: text }) },
        trace: text,
      },
      ['success', 'errors'],
    ),
    { success: false, errors: [{ reason: 'No' }] },
  ],
]
for (const [name, error, body] of shapes)
  t.test(`${name}: the error has the declared shape`, async (t) => {
    const file = join(folder, `${++files}.ts`)
    writeFileSync(file, await sourceFor(documentWith(error)))
    const { errorBody } = await import(file)
    t.strictSame(errorBody({ status: 404, message: 'No', problems: [] }), { type: 'application/json', body })
  })

t.test(
  'an error that the server cannot fill, or that RFC 9457 fits, has the shape of RFC 9457',
  async (t) => {
    const unknown = object({ code: { enum: ['no_pet', 'no_owner'] }, message: text })
    const constant = object({ message: { const: 'No pet' } })
    const problem = object({ title: text, status: { type: 'integer' } }, [])
    for (const [error, type] of [
      [unknown],
      [constant],
      [object({ message: text, request_id: { ...text, format: 'uuid' } })],
      [problem, 'application/problem+json'],
    ] as Array<[object, string?]>)
      t.equal(await sourceFor(documentWith(error, type)), standard)
  },
)

t.test('most errors decide, and the server says which parameter is invalid', async (t) => {
  const out = join(folder, 'server')
  const error = object({ message: text })
  const document = documentWith(error, undefined, { 404: json(object({ error: text })) })
  writeFileSync(join(folder, 'pets.json'), JSON.stringify(document))
  await generateProject(join(folder, 'pets.json'), out)
  const { createServer } = await import(join(out, 'generated/server.ts'))
  const app = await createServer()
  t.teardown(() => app.close())
  const invalid = await app.inject('/pets?limit=x')
  t.match(invalid.headers['content-type'], /^application\/json/)
  t.strictSame(invalid.json(), { message: 'The request is invalid; query /limit must be integer' })
  t.strictSame((await app.inject('/nothing')).json(), { message: 'Not found' })

  const { config } = ts.readConfigFile(join(out, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, out)
  const problems = ts.getPreEmitDiagnostics(ts.createProgram(fileNames, options, compilerHost(options)))
  t.same(
    problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
    'the server compiles',
  )
})
