// The console: one page for all paths below /console, its script and its style sheet. They are not part of
// the contract. Requests are limited by client network.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../infra/config/config.ts'
import { notFound } from '../../infra/errors.ts'
import { brand } from '../../infra/html/brand.ts'
import { html } from '../../infra/html/html.ts'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import { networkOf } from '../../services/users/client-network.ts'
import { readReturnPath, returnCookie } from '../../services/auth/sessions/cookies.ts'
import { countRequest, type RateLimits } from './rate-limit.ts'
import { sendStatic, staticContent, type StaticContent } from './static-content.ts'

const folder = join(import.meta.dirname, '../../generated/console')
/** The page may load this server's script and style sheet, call this server, and show files that it got. */
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    'frame-src blob:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

const types: Record<string, string> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
}

/** The addresses of the files contain their digest, so that browsers may keep them. */
const fileHeaders = (name: string): Record<string, string> => ({
  'content-type': `${types[name.slice(name.lastIndexOf('.'))]}; charset=utf-8`,
  'cache-control': 'public, max-age=31536000, immutable',
})

/** Reads the files again when the generator has written them, as `npm run dev` does while the server runs. */
class Contents {
  #version = ''
  #files = new Lazy(() => loadConsole([]))

  async get(): Promise<Map<string | null, StaticContent>> {
    const names = (await readdir(folder)).filter((name) => /\.(js|css)$|^help\.json$/.test(name)).sort()
    const stats = await Promise.all(names.map((name) => stat(join(folder, name))))
    const version = stats.map(({ mtimeMs }) => mtimeMs).join()
    if (version !== this.#version) this.#files = new Lazy(() => loadConsole(names))
    this.#version = version
    return await this.#files.get()
  }
}

/**
 * The names in the addresses are below one digest of all files, since scripts import each other by name.
 * @returns the page at null, and the files by their names in the address.
 */
async function loadConsole(names: string[]): Promise<Map<string | null, StaticContent>> {
  const files = await Promise.all(
    names.map(async (name) => {
      const content = await readFile(join(folder, name))
      return { name, content: name === 'style.css' ? Buffer.from(`${content}${brand().css}`) : content }
    }),
  )
  const digest = hash('sha256', Buffer.concat(files.map(({ content }) => content))).slice(0, 16)
  const main = files.find(({ name }) => name === 'main.js')!.content
  const preloaded = names.filter((name) => main.includes(`from"./${name}"`))
  const served = files.map(async ({ name, content }): Promise<[string, StaticContent]> => [
    `${digest}/${name}`,
    await staticContent(content, fileHeaders(name)),
  ])
  return new Map([
    [null, await staticContent(pageOf(digest, preloaded), pageHeaders)],
    ...(await Promise.all(served)),
  ])
}

/** @param preloaded the scripts that the main script needs at once. */
function pageOf(digest: string, preloaded: string[]): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Console</title>
        <meta name="application-name" content="${brand().name ?? ''}" />
        <link rel="icon" href="${brand().iconUrl}" />
        <link rel="stylesheet" href="/console/-/${digest}/style.css" />
        ${preloaded.map((name) => html`<link rel="modulepreload" href="/console/-/${digest}/${name}" />`)}
        <script type="module" src="/console/-/${digest}/main.js"></script>
      </head>
      <body>
        <div id="console"></div>
        <noscript>The console needs JavaScript. The <a href="/docs">API reference</a> does not.</noscript>
      </body>
    </html> `.text
}

export function serveConsole(app: FastifyInstance, limits: RateLimits, config: Readonly<Config>): void {
  const contents = new Contents()
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> =>
    await countRequest(limits, reply, 'address', networkOf(request.ip))
  const send = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // The way back from the sign-in has ended here.
    if (readReturnPath(config, request.headers) === '/console')
      reply.header('set-cookie', returnCookie(config, null))
    const files = await contents.get()
    const path = (request.params as { '*'?: string })['*'] ?? ''
    const file = files.get(path.startsWith('-/') ? path.slice(2) : null)
    // Of a script of a former version: a page would not be a script.
    if (file === undefined) throw notFound('path')
    return sendStatic(request, reply, file)
  }
  app.get('/console', { onRequest }, send)
  app.get('/console/*', { onRequest }, send)
}
