// A server loads no package before it is ready that only some requests or settings need.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, inheritedEnvironment, spawnServer } from '../support/server/process.ts'

const root = join(import.meta.dirname, '../..')
const hook = join(root, 'test/support/server/loaded-modules.ts')

/** Loaded when a request or a setting first needs them. */
const later = [
  '@speed-highlight/core',
  '@aws-sdk/client-s3',
  '@aws-sdk/s3-request-presigner',
  '@nats-io/transport-node',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/exporter-logs-otlp-http',
  '@opentelemetry/sdk-logs',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-trace',
  '@scalar/fastify-api-reference',
  'csv-parse',
  'eld',
  'file-type',
  'fontkit',
  'gpt-tokenizer',
  'htmlparser2',
  'ioredis',
  'mammoth',
  'minisearch',
  'openai',
  'pdfkit',
  'pino-pretty',
  'sharp',
  'stripe',
  'tar',
  'unpdf',
]

/** The packages of the URLs of modules. */
function packagesOf(urls: string[]): Set<string> {
  return new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))
}

t.test('a server loads the packages of single features when they are used', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const file = join(t.testdir(), 'loaded')
  const { url } = await spawnServer(t, {
    DATABASE_URL: databaseUrl,
    NODE_OPTIONS: `--import=${hook}`,
    LOADED_MODULES: file,
  })
  const loaded = (): Set<string> => packagesOf(readFileSync(file, 'utf8').split('\n'))

  t.equal((await fetch(`${url}/readyz`)).status, 200)
  t.ok(loaded().has('fastify'), 'the list has what is loaded')
  t.same(
    later.filter((name) => loaded().has(name)),
    [],
  )

  const body = new FormData()
  body.append('file', new Blob([Buffer.from('89504e470d0a1a0a', 'hex')]), 'image')
  const response = await fetch(`${url}/v1/storage/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bootstrapKey}` },
    body,
  })
  t.equal(response.status, 201)
  t.ok(loaded().has('file-type'), 'an upload loads what finds its content type')
})

t.test('the commands of package.json start without the TypeScript compiler of Node.js', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const report =
    "process.on('exit', () => console.log(process.moduleLoadList.some((it) => it.includes('amaro'))))"
  for (const command of [scripts.start, scripts.worker]) {
    const [program, ...args] = command.split(' ')
    t.equal(program, 'node')
    const loadsCompiler = (cache: string): string =>
      execFileSync(process.execPath, [`--import=data:text/javascript,${report}`, ...args, '--help'], {
        cwd: root,
        env: { ...inheritedEnvironment(), NODE_COMPILE_CACHE: cache },
        encoding: 'utf8',
      })
        .trim()
        .split('\n')
        .at(-1)!
    const cache = t.testdir()
    t.equal(loadsCompiler(cache), 'true', 'the first time')
    t.equal(loadsCompiler(cache), 'false')
  }
})
