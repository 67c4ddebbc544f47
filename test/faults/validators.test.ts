// Validators, tools and clients of others. Nothing is found in the published document, and what each says is
// asserted.
// `npm run faults -- validators` installs them from npm; test/contract/generators.test.ts has the generators
// openapi-typescript, oazapfts, orval and hey-api.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { createPlatformClient } from '../../generated/client/index.js'
import { operations } from '../../generated/operations.ts'
import { hasPrism, startPrism } from '../support/contract/prism.ts'
import { compilerHost } from '../support/generator/compiler-host.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const document = resolve(import.meta.dirname, '../../generated/openapi.json')
const packages = {
  'swagger-typescript-api': '13.13.0',
  '@seriousme/openapi-schema-validator': '2.11.0',
  '@readme/openapi-parser': '9.0.0',
  ai: '7.0.173',
  '@ai-sdk/openai-compatible': '3.0.92',
}

if (isLongForm) {
  const folder = mkdtempSync(join(tmpdir(), 'validators-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const skip = !installed(folder) && 'the packages cannot be installed'
  /** Runs a program in the folder. @returns what it prints. */
  const run = async (program: string): Promise<string> => {
    const args = ['--input-type=module', '--eval', program]
    return (await promisify(execFile)(process.execPath, args, { cwd: folder })).stdout
  }

  t.test('@seriousme/openapi-schema-validator finds the document valid', { skip }, async (t) => {
    const said = await run(`
      import { Validator } from '@seriousme/openapi-schema-validator'
      const validator = new Validator()
      const { valid, errors = [] } = await validator.validate(${JSON.stringify(document)})
      console.log(JSON.stringify({ valid, errors, version: validator.version }))`)
    t.same(JSON.parse(said), { valid: true, errors: [], version: '3.1' })
  })

  t.test('@readme/openapi-parser finds the document valid, without warnings', { skip }, async (t) => {
    const said = await run(`
      import { validate } from '@readme/openapi-parser'
      console.log(JSON.stringify(await validate(${JSON.stringify(document)})))`)
    t.match(JSON.parse(said), { valid: true, warnings: [] })
  })

  t.test('the client of swagger-typescript-api compiles in strict mode', { skip }, async (t) => {
    await run(`
      import { generateApi } from 'swagger-typescript-api'
      const input = ${JSON.stringify(document)}
      await generateApi({ input, output: ${JSON.stringify(folder)}, fileName: 'api.ts', silent: true })`)
    const options: ts.CompilerOptions = {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      types: [],
    }
    const program = ts.createProgram([join(folder, 'api.ts')], options, compilerHost(options))
    const problems = ts.getPreEmitDiagnostics(program)
    t.same(
      problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
      [],
    )
    t.ok(program.getSourceFile(join(folder, 'api.ts'))!.text.includes('class Api'))
  })

  t.test("Vercel's AI SDK generates and streams a text", { skip }, async (t) => {
    const server = await startServer(t)
    const { key } = await server.person()
    const said = await run(`
      import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
      import { generateText, streamText } from 'ai'
      const options = { name: 'platform', baseURL: '${server.url}/v1', apiKey: '${key}', includeUsage: true }
      const model = createOpenAICompatible(options)('extractive-1')
      const { text, finishReason } = await generateText({ model, prompt: 'Where is the lantern?' })
      const stream = streamText({ model, prompt: 'Where is the lantern?' })
      const streamed = await Array.fromAsync(stream.textStream)
      console.log(JSON.stringify({ text, finishReason, streamed, usage: await stream.usage }))`)
    const { text, streamed, ...rest } = JSON.parse(said)
    t.match(text, /no documents/)
    t.equal(streamed.join(''), text)
    t.match(rest, { finishReason: 'stop', usage: { inputTokens: /[1-9]/, outputTokens: /[1-9]/ } })
  })

  t.test(
    'Prism as a proxy accepts all requests and responses',
    { skip: !hasPrism() && 'no Prism' },
    async (t) => {
      const server = await startServer(t)
      const { key } = await server.person()
      // Prism matches the paths of the document, which are relative to its server.
      const proxy = await startPrism(document, `${server.url}/v1`)
      t.teardown(() => proxy.stop())
      const fetch = async (request: Request): Promise<Response> => {
        const { url, method, headers } = request
        const target = url.replace(`${server.url}/v1`, proxy.base)
        // Prism forwards a chunked body with two lengths.
        const bytes = await request.arrayBuffer()
        return await globalThis.fetch(target, { method, headers, body: bytes.byteLength > 0 ? bytes : null })
      }
      const client = createPlatformClient({ baseUrl: server.url, apiKey: key, fetch, retries: 0 })
      const project = await client.projects.create({ name: 'Launch', tags: ['q4'] })
      await client.projects.update(project.id, { name: 'Start' })
      await client.projects.members.list(project.id)
      await client.storage.files.upload({ file: new File(['content'], 'a.txt') })
      const read = Object.values(operations).filter(
        ({ method, path, replies, body }) =>
          method === 'GET' &&
          path.startsWith('/v1/') &&
          !path.includes('{') &&
          body === null &&
          200 in replies,
      )
      const refused: string[] = []
      for (const { id, path, replies } of read) {
        if (replies[200].events !== undefined) continue
        const response = await globalThis.fetch(proxy.base + path.slice('/v1'.length), {
          headers: { authorization: `Bearer ${key}` },
        })
        const text = await response.text()
        if (/prism|stoplight/i.test(text)) refused.push(`${id}: ${response.status} ${text.slice(0, 300)}`)
      }
      t.same(refused, [])
      t.ok(read.length > 30, `${read.length} operations`)
      t.equal(await client.projects.delete(project.id), undefined)
    },
  )
}

t.test('a body where none is declared may be empty, and its fields are unknown', async (t) => {
  const server = await startServer(t)
  const send = (body: string | undefined): Promise<Response> =>
    fetch(`${server.url}/v1/auth/passkey-options`, {
      method: 'POST',
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
    })
  // Many clients send `{}` with every POST. GitHub and Stripe accept it, too.
  t.same(
    (await Promise.all([undefined, '{}'].map(async (body) => (await send(body)).status))).join(),
    '200,200',
  )
  const refused = await send('{"email":"ada@example.com"}')
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    error: { code: 'INVALID_REQUEST', details: { field: 'email', constraint: 'additionalProperties' } },
  })
})

function installed(folder: string): boolean {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: packages }))
  try {
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
    execFileSync('npm', args, { cwd: folder, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
