// The configuration file of all commands.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { runCommand as runChanges } from '@platform-api/changes/main.ts'
import { checkNames } from '@platform-api/contract/checks.ts'
import { createFindings } from '@platform-api/contract/findings.ts'
import { runCommand as runContract } from '@platform-api/contract/main.ts'
import { generateProject } from '@platform-api/generate/project.ts'
import { lintOpenapi, ruleNames } from '@platform-api/lint/lint.ts'
import { loadConfig, requireKnown } from '@platform-api/openapi/config.ts'
import { inheritedEnvironment } from '../../../test/support/server/process.ts'
import { defineConfig } from '../config.ts'

const root = resolve(import.meta.dirname, '../../..')
const ok = { description: 'Done.', headers: { Age: { schema: { type: 'integer' } } } }
const pets = (headers: object = ok.headers): object => ({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  paths: {
    '/pets': {
      get: { operationId: 'list', tags: ['pets'], responses: { '200': { ...ok, headers } } },
      post: {
        tags: ['pets'],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
        responses: { '200': ok },
      },
    },
  },
  components: {
    schemas: {
      Pet: {
        oneOf: [{ $ref: '#/components/schemas/Cat' }],
        discriminator: { propertyName: 'kind' },
      },
      Cat: { type: 'object', required: ['kind'], properties: { kind: { type: 'string' } } },
    },
  },
})

/** A folder with the packages and these files. */
function folderWith(t: Test, files: Record<string, unknown>): string {
  const folder = t.testdir(
    Object.fromEntries(
      Object.entries({ 'pets.json': pets(), ...files }).map(([name, content]) => [
        name,
        typeof content === 'string' ? content : JSON.stringify(content),
      ]),
    ),
  )
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

async function toolkit(cwd: string, ...args: string[]): Promise<{ code: number; text: string }> {
  const command = [join(root, 'packages/toolkit/main.ts'), ...args]
  const options = { cwd, env: inheritedEnvironment() }
  return await promisify(execFile)(process.execPath, command, options).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, text: stdout + stderr }),
  )
}

t.test('a file is found as .ts, .mts, .js and .json, and its paths are its own', async (t) => {
  const config = { lint: { profile: './rules.js' } }
  const module = `export default ${JSON.stringify(config)}`
  for (const [extension, content] of Object.entries({
    ts: `const config: object = ${JSON.stringify(config)}\nexport default config`,
    mts: module,
    js: module,
    json: JSON.stringify(config),
  })) {
    const folder = folderWith(t, {
      'package.json': { type: 'module' },
      [`toolkit.config.${extension}`]: content,
    })
    t.same(await loadConfig(undefined, folder), { lint: { profile: join(folder, 'rules.js') } })
    t.same(await loadConfig(`toolkit.config.${extension}`, folder), {
      lint: { profile: join(folder, 'rules.js') },
    })
  }
  t.same(await loadConfig(undefined, folderWith(t, {})), {})
})

t.test('what no command knows is an error that names what is near', async (t) => {
  const cases: Array<[config: unknown, says: RegExp]> = [
    [{ lints: {} }, /^lints is not the key of toolkit\.config\.json\. Did you mean lint\?$/],
    [{ lint: { rule: {} } }, /^rule is not the key of lint in .*Did you mean rules\?$/],
    [{ generate: { zzz: 1 } }, /There are handlers, operations, types, noFormats, bodyLimit\.$/],
    [{ generate: { bodyLimit: '1MB' } }, /generate\.bodyLimit must be a positive integer/],
    [{ lint: { rules: { 'operation-summary': 'off' } } }, /'off' needs a reason/],
    [{ contract: { mayFail: 'list' } }, /contract\.mayFail must be a list of texts/],
    [[], /must export the configuration/],
    ['{', /^toolkit\.config\.json: /],
  ]
  for (const [config, says] of cases)
    await t.rejects(loadConfig(undefined, folderWith(t, { 'toolkit.config.json': config })), {
      message: says,
    })
  await t.rejects(loadConfig('none.ts', folderWith(t, {})), { message: /no configuration file none\.ts/ })
  const two = folderWith(t, { 'toolkit.config.json': {}, 'toolkit.config.js': 'export default {}' })
  await t.rejects(loadConfig(undefined, two), { message: /one configuration file, not/ })
  t.throws(() => requireKnown(['operation-sumary'], ruleNames, 'a rule'), /Did you mean operation-summary\?/)
  t.throws(() => requireKnown(['server-errors'], checkNames, 'a check'), /Did you mean server-error\?/)
})

t.test('rules of lint are off, errors and warnings', async (t) => {
  const rules = { 'operation-summary': ['off', 'The names say it.'], 'operation-operationId': 'error' }
  const folder = folderWith(t, { 'toolkit.config.json': { lint: { rules } } })
  const { code, text } = await toolkit(folder, 'lint', 'pets.json')
  t.equal(code, 1)
  t.match(text, /^error operation-operationId: 1$/m)
  t.match(text, /^operation-summary is off: The names say it\.$/m)
  t.notMatch(text, /warning operation-summary/)
  const found = await lintOpenapi(join(folder, 'pets.json'))
  t.ok(
    found.some(({ rule }) => rule === 'operation-summary'),
    'without the configuration it is there',
  )
})

t.test('handlers, operations and types have the names of the configuration', async (t) => {
  const config = defineConfig({
    generate: {
      handlers: 'src/handlers',
      operations: { list: 'listPets', 'POST /pets': 'addPet' },
      types: { Cat: 'Feline' },
      bodyLimit: 5000,
    },
  })
  const source = `import { defineConfig } from '@platform-api/toolkit'
export default defineConfig(${JSON.stringify(config)})
`
  const folder = folderWith(t, { 'toolkit.config.mts': source })
  const { code, text } = await toolkit(folder, 'generate', 'pets.json', '--out', 'server')
  t.equal(code, 0, text)
  const read = (name: string): string => readFileSync(join(folder, 'server', name), 'utf8')
  t.match(
    read('src/handlers/pets.ts'),
    /from '\.\.\/\.\.\/generated\/handler\.ts'[^]*async listPets[^]*async addPet/,
  )
  t.match(read('generated/handlers.ts'), "from '../src/handlers/pets.ts'")
  t.match(read('generated/types.ts'), /Pet: components\["schemas"\]\["Feline"\]/)
  t.match(read('generated/operations.ts'), 'bodyLimit = 5000')
  t.match(read('generated/types.ts'), /kind\?: "Cat"/, 'the value of the discriminator stays')
  t.notOk(existsSync(join(folder, 'server/handlers')))
  await t.rejects(generateProject(join(folder, 'pets.json'), folder, { types: { Cats: 'Feline' } }), {
    message: 'Cats is not a schema of the document. Did you mean Cat?',
  })
})

t.test('a break is accepted until its day', async (t) => {
  const entry = { subject: 'GET /pets', rule: 'header-removed', reason: 'No client reads it.' }
  const after = pets({})
  for (const [until, code] of [
    ['2999-01-01', 0],
    ['2020-01-01', 1],
  ] as const) {
    const accepted = [{ ...entry, until }]
    for (const files of [
      { 'toolkit.config.json': { changes: { accepted } } },
      { 'toolkit.config.json': { changes: { accepted: 'accepted.json' } }, 'accepted.json': accepted },
    ]) {
      const folder = folderWith(t, { ...files, 'after.json': after })
      const lines: string[] = []
      const log = (line: string): number => lines.push(line)
      t.equal(await runChanges(['pets.json', 'after.json'], folder, { log, error: log }), code)
      t.match(
        lines.join('\n'),
        code === 0 ? /accepted: No client reads it\./ : /was accepted until 2020-01-01/,
      )
    }
  }
})

t.test('checks of the contract tests are off, and options win', async (t) => {
  const findings = createFindings(new Map([['leak', 'The gateway adds fields.']]))
  findings.add('list', 'valid', { check: 'leak', expected: '', actual: '' }, null)
  findings.add('list', 'valid', { check: 'body', expected: '', actual: '' }, null)
  t.same(
    findings.all.map(({ check }) => check),
    ['body'],
  )
  const configuration = { contract: { checks: { leek: 'A reason.' } }, mock: { profile: './none.js' } }
  const folder = folderWith(t, { 'toolkit.config.json': configuration })
  const contract = ['--url', 'http://127.0.0.1:1', '--config', join(folder, 'toolkit.config.json')]
  await t.rejects(runContract(contract), {
    message: 'leek is not a check of the contract tests. Did you mean leak?',
  })
  t.match((await toolkit(folder, 'mock', 'pets.json', '--profile', 'other.js')).text, /not other\.js/)
})
