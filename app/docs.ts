// The script of the reference page, served from here so that the page needs no other host. It is taken out of its
// package at the first request and kept compressed.
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import { docsScript } from '../services/docs.ts'
import { etagOf, noneMatches } from './conditional.ts'

export function docsAssets (app: FastifyInstance): void {
  let loading: Promise<{ gzipped: Buffer, etag: string }> | undefined

  app.get(docsScript, async (request, reply) => {
    const script = await (loading ??= load())
    const zipped = takesGzip(request.headers['accept-encoding'])
    // A strong ETag names the bytes that are sent, so each coding has its own.
    const etag = zipped ? script.etag.replace(/"$/, '-gzip"') : script.etag
    reply.header('cache-control', 'public, max-age=31536000, immutable').header('vary', 'accept-encoding').header('etag', etag)
    if (noneMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
    reply.type('text/javascript; charset=utf-8')
    return zipped ? reply.header('content-encoding', 'gzip').send(script.gzipped) : reply.send(gunzipped(script.gzipped))
  })
}

/** As a stream, so that a reader who stalls holds a chunk and not the whole. */
function gunzipped (script: Buffer) {
  const gunzip = createGunzip()
  gunzip.end(script)
  return gunzip
}

/** The package gives its script only by way of its Fastify plugin; importing it is dear, so a server never asked never does. */
async function load (): Promise<{ gzipped: Buffer, etag: string }> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  inner.register(scalar, { routePrefix: '/reference', configuration: { url: '/openapi.json' } })
  const { statusCode, body } = await inner.inject('/reference/js/scalar.js')
  if (statusCode !== 200) throw new Error(`the reference page's script is not where its package had it: ${statusCode}`)
  return { gzipped: await promisify(gzip)(body, { level: 9 }), etag: etagOf(body) }
}

function takesGzip (header: string | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(header ?? '')
}
