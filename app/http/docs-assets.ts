// The assets of the documentation, which are not part of the contract: the pages of the reference with their
// scripts (served from here, so that the pages need no other host) and the documents that they render, the
// catalogues of errors and events, the guides, the search, the Postman collection, the package of the
// TypeScript client and those of the toolkit, and what programs look for at the root. Each asset is created
// on its first request. Requests are limited by client network.
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestAsyncHookHandler,
} from 'fastify'
import {
  pageScript,
  pageScriptPath,
  referenceHeaders,
  referencePage,
  scalarPath,
} from '../../services/docs/reference-page.ts'
import { areas } from '../../services/docs/areas.ts'
import { errorsPage, eventsPage } from '../../services/docs/catalogue-pages.ts'
import { openapiOfArea } from '../../services/docs/openapi-samples.ts'
import {
  clientPackage,
  clientPackageName,
  clientPackagePath,
  pythonPackage,
  pythonPackageName,
  pythonPackagePath,
} from '../../services/docs/client-package.ts'
import { toolkitPackage, toolkitPackages } from '../../services/docs/toolkit-packages.ts'
import { postmanCollection, postmanFileName, postmanPath } from '../../services/docs/postman.ts'
import { docsPageHeaders, docsScript, docsScriptPath, searchPath } from '../../services/docs/docs-layout.ts'
import { searchPage } from '../../services/docs/search.ts'
import { guideNames, guidePage, guidesPage, guideText } from '../../services/docs/guides.ts'
import { llmsText, robotsText, rootLinks } from '../../services/docs/index-files.ts'
import { brand } from '../../infra/html/brand.ts'
import { notFound } from '../../infra/errors.ts'
import { acceptsHtml, varyBy } from './content-negotiation.ts'
import { networkOf } from '../../services/users/client-network.ts'
import { countRequest, type RateLimits } from './rate-limit.ts'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import { sendStatic, staticContent, type StaticContent } from './static-content.ts'

interface Asset {
  type: string
  headers: Record<string, string>
  /** @param url the public URL of the server. */
  make(url: string): string | Buffer | Promise<string | Buffer>
  /** Whether the bytes are compressed already. */
  compressed?: boolean
}

/** Caches may store these assets, but must revalidate them. */
const revalidated = { 'cache-control': 'public, no-cache' }

/** A documentation page. */
const docsPage = (make: Asset['make']): Asset => ({
  type: 'text/html; charset=utf-8',
  get headers() {
    return { ...docsPageHeaders, ...revalidated }
  },
  make,
})

const text = (type: string, make: Asset['make']): Asset => ({
  type: `${type}; charset=utf-8`,
  headers: revalidated,
  make,
})

const assets: Record<string, Asset> = {
  [scalarPath]: {
    type: 'text/javascript; charset=utf-8',
    headers: { 'cache-control': 'public, max-age=31536000, immutable' },
    make: scalarScript,
  },
  [pageScriptPath]: text('text/javascript', pageScript),
  [docsScriptPath]: text('text/javascript', docsScript),
  [postmanPath]: {
    type: 'application/json; charset=utf-8',
    headers: { ...revalidated, 'content-disposition': `attachment; filename="${postmanFileName}"` },
    make: postmanCollection,
  },
  [clientPackagePath]: {
    type: 'application/gzip',
    get headers() {
      return { ...revalidated, 'content-disposition': `attachment; filename="${clientPackageName()}"` }
    },
    make: clientPackage,
    compressed: true,
  },
  [pythonPackagePath]: {
    type: 'application/gzip',
    get headers() {
      const filename = `${pythonPackageName()}.tar.gz`
      return { ...revalidated, 'content-disposition': `attachment; filename="${filename}"` }
    },
    make: pythonPackage,
    compressed: true,
  },
  ...Object.fromEntries(
    toolkitPackages.map(([path, name]): [string, Asset] => [
      path,
      {
        type: 'application/gzip',
        headers: { ...revalidated, 'content-disposition': `attachment; filename="${name}.tgz"` },
        make: () => toolkitPackage(name),
        compressed: true,
      },
    ]),
  ),
  '/docs/errors': docsPage(errorsPage),
  '/docs/events': docsPage(eventsPage),
  '/docs/guides': docsPage(guidesPage),
  ...Object.fromEntries(
    guideNames.flatMap((name) => [
      [`/docs/guides/${name}`, docsPage(() => guidePage(name))],
      [`/docs/guides/${name}.md`, text('text/markdown', () => guideText(name))],
    ]),
  ),
  '/llms.txt': text('text/plain', llmsText),
  '/robots.txt': text('text/plain', () => robotsText),
  '/favicon.ico': {
    get type() {
      return brand().icon.type
    },
    headers: revalidated,
    make: () => brand().icon.bytes,
  },
}

export function serveDocsAssets(
  app: FastifyInstance,
  limits: RateLimits,
  { publicUrl, console }: { publicUrl: () => string; console: boolean },
): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> =>
    await countRequest(limits, reply, 'address', networkOf(request.ip))
  serveRoot(app, { url: publicUrl, page: console ? '/console' : '/docs' }, onRequest)
  app.get<{ Querystring: { q?: string } }>(searchPath, { onRequest }, async (request, reply) => {
    const page = await searchPage(String(request.query.q ?? ''))
    return reply
      .headers({ ...docsPageHeaders, 'cache-control': 'no-cache' })
      .type('text/html')
      .send(page)
  })
  const contentOf = (asset: Asset): Lazy<StaticContent> =>
    new Lazy(async () => {
      const headers = { ...asset.headers, 'content-type': asset.type }
      return await staticContent(await asset.make(publicUrl()), headers, { compressed: asset.compressed })
    })
  for (const [path, asset] of Object.entries(assets)) {
    const content = contentOf(asset)
    app.get(path, { onRequest }, async (request, reply) => sendStatic(request, reply, await content.get()))
  }
  const ofAreas = new Lazy(async () => new Map(areaAssets().map(([path, asset]) => [path, contentOf(asset)])))
  for (const path of ['/docs/reference/:area', '/docs/reference/:area/openapi.json'])
    app.get(path, { onRequest }, async (request, reply) => {
      const content = (await ofAreas.get()).get(request.url.replace(/\?.*/, ''))
      if (content === undefined) throw notFound('path')
      return sendStatic(request, reply, await content.get())
    })
}

/** The page of each area of the reference, and the part of the document that it renders. */
function areaAssets(): Array<[string, Asset]> {
  const headers = { ...referenceHeaders, ...revalidated }
  return areas().flatMap((area): Array<[string, Asset]> => [
    [area.href, { type: 'text/html; charset=utf-8', headers, make: () => referencePage(area) }],
    [area.documentPath, text('application/json', () => openapiOfArea(area))],
  ])
}

/** Redirects a browser from `/` to a page. Other clients get links to the documentation. */
function serveRoot(
  app: FastifyInstance,
  { url, page }: { url: () => string; page: string },
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/', { onRequest }, async (request, reply) => {
    varyBy(reply, 'accept')
    reply.header('cache-control', 'no-cache')
    if (acceptsHtml(request.headers.accept)) return reply.redirect(page, 302)
    return reply.type('application/json; charset=utf-8').send(rootLinks(url()))
  })
}

/**
 * The package offers its script only through its Fastify plugin. The import is slow, so it happens on demand.
 */
async function scalarScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  inner.register(scalar, { routePrefix: '/reference', configuration: { url: '/openapi.json' } })
  const { statusCode, body } = await inner.inject('/reference/js/scalar.js')
  if (statusCode !== 200)
    throw new Error(`the script of the reference page was not found in its package: ${statusCode}`)
  return body
}
