// The layout of the HTML pages of this server (payments, receipts, errors): one style sheet, no scripts, no
// external resources. The headers allow only this style sheet and forms to this server, and forbid caching.
import { readFileSync } from 'node:fs'
import { html, htmlDocument, contentSecurityPolicy, type Html } from './html.ts'

/** The design of all pages, which begins each style sheet. */
export const tokens = readFileSync(new URL('tokens.css', import.meta.url), 'utf8')

const style = tokens + readFileSync(new URL('layout.css', import.meta.url), 'utf8')

/** An SVG. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">' +
  '<rect width="16" height="16" rx="4" fill="#1d4ed8"/>' +
  '<path d="M3 5.5h10v6H3zM3 7.5h10" fill="none" stroke="#fff" stroke-width="1.3"/></svg>'

/** The icon as a URL, which needs no request. */
export const iconUrl = `data:image/svg+xml,${encodeURIComponent(icon)}`

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy(style, "'self'"),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'no-store',
}

export interface PageParts {
  title: string
  /** Reloads the page, or opens `url`, after some seconds. */
  refresh?: { seconds: number; url?: string }
  /** Two columns on wide screens. */
  wide?: boolean
  /** Shown above the content. */
  notice?: Html
  body: Html
}

/** A complete document. */
export function page({ title, refresh, wide = false, notice, body }: PageParts): string {
  return htmlDocument({
    title,
    icon: iconUrl,
    style,
    ...(refresh !== undefined && {
      head: html`<meta
        http-equiv="refresh"
        content="${refresh.seconds}${refresh.url === undefined ? '' : `;url=${refresh.url}`}"
      /> `,
    }),
    body: html`${notice === undefined ? null : html`<header><p class="notice">${notice}</p></header> `}
      <main class="${wide ? 'two' : 'one'}">${body}</main>`,
  })
}
