// What a server loads before it is ready: no package that only some requests or settings need.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createTestDatabase } from '../support/database.ts'
import { bootstrapKey, spawnServer } from '../support/process.ts'

const hook = join(import.meta.dirname, '../support/loaded-modules.ts')

/** Loaded when a request or a setting first needs them. */
const later = [
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
  'mammoth',
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
