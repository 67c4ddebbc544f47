// What belongs to the reference page and stands in no contract: its script, served from here so that the page needs no other host, the document that it
// draws, and the catalogues of errors and events. Each is made at the first request for it and kept compressed.
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import { docsOpenapiPath, docsScriptPath } from '../../services/docs/reference-page.ts'
import { cataloguePageHeaders, errorsPage, eventsPage } from '../../services/docs/catalogue-pages.ts'
import { openapiWithSamples } from '../../services/docs/openapi-samples.ts'
import { etagOf, noneMatches } from './etag.ts'

interface Asset {
  type: string
  headers: Record<string, string>
  make(): string | Promise<string>
}

/** May be kept, and is asked about each time. */
const changing = { 'cache-control': 'public, no-cache' }

const assets: Record<string, Asset> = {
  [docsScriptPath]: {
    type: 'text/javascript; charset=utf-8',
    headers: { 'cache-control': 'public, max-age=31536000, immutable' },
    make: scalarScript,
  },
  [docsOpenapiPath]: { type: 'application/json; charset=utf-8', headers: changing, make: openapiWithSamples },
  '/docs/errors': {
    type: 'text/html; charset=utf-8',
    headers: { ...cataloguePageHeaders, ...changing },
    make: errorsPage,
  },
  '/docs/events': {
    type: 'text/html; charset=utf-8',
    headers: { ...cataloguePageHeaders, ...changing },
    make: eventsPage,
  },
}

export function docsAssets(app: FastifyInstance): void {
  for (const [path, asset] of Object.entries(assets)) serveAsset(app, path, asset)
}

function serveAsset(app: FastifyInstance, path: string, { type, headers, make }: Asset): void {
  let making: Promise<{ gzipped: Buffer; etag: string }> | undefined

  app.get(path, async (request, reply) => {
    const made = await (making ??= compressed(make))
    const zipped = takesGzip(request.headers['accept-encoding'])
    // A strong ETag names the bytes that are sent, so each coding has its own.
    const etag = zipped ? made.etag.replace(/"$/, '-gzip"') : made.etag
    reply.headers(headers).header('vary', 'accept-encoding').header('etag', etag)
    if (noneMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
    reply.type(type)
    return zipped
      ? reply.header('content-encoding', 'gzip').send(made.gzipped)
      : reply.send(gunzipped(made.gzipped))
  })
}

async function compressed(make: Asset['make']): Promise<{ gzipped: Buffer; etag: string }> {
  const text = await make()
  return { gzipped: await promisify(gzip)(text, { level: 9 }), etag: etagOf(text) }
}

/** As a stream, so that a reader who stalls holds a chunk and not the whole. */
function gunzipped(script: Buffer) {
  const gunzip = createGunzip()
  gunzip.end(script)
  return gunzip
}

/** The package gives its script only by way of its Fastify plugin; importing it is dear, so a server never asked never does. */
async function scalarScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  inner.register(scalar, { routePrefix: '/reference', configuration: { url: docsOpenapiPath } })
  const { statusCode, body } = await inner.inject('/reference/js/scalar.js')
  if (statusCode !== 200)
    throw new Error(`the reference page's script is not where its package had it: ${statusCode}`)
  return body
}

function takesGzip(header: string | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(header ?? '')
}
