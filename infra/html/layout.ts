// The layout of the HTML pages of this server (payments, receipts, errors): one style sheet, no scripts, no
// external resources. The headers allow only this style sheet and forms to this server, and forbid caching.
import { readFileSync } from 'node:fs'
import { brand } from './brand.ts'
import { html, htmlDocument, contentSecurityPolicy, type Html } from './html.ts'

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

/** The type, spacing and colors of all pages, as variables. */
export const tokens = read('tokens.css')

/** The tokens and the rules that begin each style sheet. */
export const baseStyle = tokens + read('base.css')

const style = baseStyle + read('layout.css')

const styleOf = (): string => style + brand().css

export const pageHeaders: Readonly<Record<string, string>> = {
  get 'content-security-policy'() {
    return contentSecurityPolicy(styleOf(), "'self'")
  },
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
  const { name, logo, iconUrl } = brand()
  const mark = logo === null ? null : html`<img src="${iconUrl}" alt="" width="24" height="24" /> `
  return htmlDocument({
    title: name === null ? title : `${title} · ${name}`,
    icon: iconUrl,
    style: styleOf(),
    ...(refresh !== undefined && {
      head: html`<meta
        http-equiv="refresh"
        content="${refresh.seconds}${refresh.url === undefined ? '' : `;url=${refresh.url}`}"
      /> `,
    }),
    body: html`${notice === undefined ? null : html`<header><p class="notice">${notice}</p></header> `}
      ${name === null && mark === null ? null : html`<header><p class="brand">${mark}${name}</p></header> `}
      <main class="${wide ? 'two' : 'one'}">${body}</main>`,
  })
}
