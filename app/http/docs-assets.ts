// The assets of the documentation, which are not part of the contract: the script of the reference page
// (served from here, so that the page needs no other host), the document that it renders, the catalogues of
// errors and events, the guides, the Postman collection and the package of the TypeScript client. Each asset
// is created on its first request and kept compressed.
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import {
  docsOpenapiPath,
  docsScriptPath,
  pageScript,
  pageScriptPath,
} from '../../services/docs/reference-page.ts'
import { errorsPage, eventsPage } from '../../services/docs/catalogue-pages.ts'
import { openapiWithSamples } from '../../services/docs/openapi-samples.ts'
import { clientPackage, clientPackageName, clientPackagePath } from '../../services/docs/client-package.ts'
import { postmanCollection, postmanFileName, postmanPath } from '../../services/docs/postman.ts'
import { docsPageHeaders } from '../../services/docs/docs-layout.ts'
import { guideNames, guidePage, guidesPage } from '../../services/docs/guides.ts'
import { notFound } from '../../infra/errors.ts'
import { acceptsHtml } from './content-negotiation.ts'
import { etagOf, noneMatches } from './etag.ts'

interface Asset {
  type: string
  headers: Record<string, string>
  /** @param url the public URL of the server. */
  make(url: string): string | Promise<string>
}

/** Caches may store these assets, but must revalidate them. */
const revalidated = { 'cache-control': 'public, no-cache' }

/** A documentation page: HTML without scripts. */
const docsPage = (make: () => string): Asset => ({
  type: 'text/html; charset=utf-8',
  headers: { ...docsPageHeaders, ...revalidated },
  make,
})

const assets: Record<string, Asset> = {
  [docsScriptPath]: {
    type: 'text/javascript; charset=utf-8',
    headers: { 'cache-control': 'public, max-age=31536000, immutable' },
    make: scalarScript,
  },
  [pageScriptPath]: { type: 'text/javascript; charset=utf-8', headers: revalidated, make: pageScript },
  [docsOpenapiPath]: {
    type: 'application/json; charset=utf-8',
    headers: revalidated,
    make: openapiWithSamples,
  },
  [postmanPath]: {
    type: 'application/json; charset=utf-8',
    headers: { ...revalidated, 'content-disposition': `attachment; filename="${postmanFileName}"` },
    make: postmanCollection,
  },
  '/docs/errors': docsPage(errorsPage),
  '/docs/events': docsPage(eventsPage),
  '/docs/guides': docsPage(guidesPage),
  ...Object.fromEntries(guideNames.map((name) => [`/docs/guides/${name}`, docsPage(() => guidePage(name))])),
}

export function serveDocsAssets(app: FastifyInstance, publicUrl: () => string): void {
  redirectToDocs(app)
  for (const [path, asset] of Object.entries(assets)) serveAsset(app, path, asset, publicUrl)
  serveClientPackage(app)
}

/** The tarball is compressed already, so it has one content coding. */
function serveClientPackage(app: FastifyInstance): void {
  let pending: Promise<Buffer> | undefined

  app.get(clientPackagePath, async (request, reply) => {
    const tarball = await (pending ??= clientPackage())
    const etag = etagOf(tarball)
    reply.headers({ ...revalidated, etag })
    if (noneMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply
      .type('application/gzip')
      .header('content-disposition', `attachment; filename="${clientPackageName()}"`)
      .send(tarball)
  })
}

/** Redirects a browser from `/` to the API reference. Other clients get the 404 of an unknown path. */
function redirectToDocs(app: FastifyInstance): void {
  app.get('/', async (request, reply) => {
    reply.header('vary', 'accept')
    if (!acceptsHtml(request.headers.accept)) throw notFound('path')
    return reply.header('cache-control', 'no-cache').redirect('/docs', 302)
  })
}

function serveAsset(
  app: FastifyInstance,
  path: string,
  { type, headers, make }: Asset,
  publicUrl: () => string,
): void {
  let pending: Promise<{ gzipped: Buffer; etag: string }> | undefined

  app.get(path, async (request, reply) => {
    const { gzipped, etag: textEtag } = await (pending ??= compressed(make, publicUrl()))
    const zipped = acceptsGzip(request.headers['accept-encoding'])
    // A strong ETag identifies the sent bytes, so each content coding has its own.
    const etag = zipped ? textEtag.replace(/"$/, '-gzip"') : textEtag
    reply.headers(headers).header('vary', 'accept-encoding').header('etag', etag)
    if (noneMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
    reply.type(type)
    return zipped ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(gunzip(gzipped))
  })
}

async function compressed(
  make: Asset['make'],
  publicUrl: string,
): Promise<{ gzipped: Buffer; etag: string }> {
  const text = await make(publicUrl)
  return { gzipped: await promisify(gzip)(text, { level: 9 }), etag: etagOf(text) }
}

/** A stream, so that a slow reader holds one chunk in memory and not the whole asset. */
function gunzip(script: Buffer) {
  const stream = createGunzip()
  stream.end(script)
  return stream
}

/**
 * The package offers its script only through its Fastify plugin. The import is slow, so it happens on demand.
 */
async function scalarScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  inner.register(scalar, { routePrefix: '/reference', configuration: { url: docsOpenapiPath } })
  const { statusCode, body } = await inner.inject('/reference/js/scalar.js')
  if (statusCode !== 200)
    throw new Error(`the script of the reference page was not found in its package: ${statusCode}`)
  return body
}

function acceptsGzip(header: string | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(header ?? '')
}
