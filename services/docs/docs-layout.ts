// The layout of the documentation pages: a header with the search, navigation at the side, and the contents
// of the page. They load nothing from other hosts and work without their script.
import { readFileSync } from 'node:fs'
import { brand, defaultName } from '../../infra/html/brand.ts'
import { contentSecurityPolicy, html, htmlDocument, type Html } from '../../infra/html/html.ts'
import { baseStyle, tokens } from '../../infra/html/layout.ts'

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const header = read('header.css')
const style = baseStyle + header + read('docs.css')

/** The style of the header alone, for a page whose contents have a style of their own. */
export const headerStyle = (): string => tokens + brand().css + header

export const docsPageHeaders: Readonly<Record<string, string>> = {
  get 'content-security-policy'() {
    return contentSecurityPolicy(style + brand().css, "'self'", { scripts: true })
  },
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** The path of the script of these pages. */
export const docsScriptPath = '/docs/docs.js'

export const docsScript = (): string => read('docs-script.js')

export const searchPath = '/docs/search'

const sections = [
  ['/docs/guides', 'Guides'],
  ['/docs', 'API reference'],
  ['/docs/errors', 'Errors'],
  ['/docs/events', 'Events'],
] as const

export type Section = (typeof sections)[number][0]

/** @param query what was searched for. */
export function docsHeader(current: Section | null, query = ''): Html {
  const { name, iconUrl } = brand()
  return html`<header class="top">
    <a class="brand" href="/"><img src="${iconUrl}" alt="" width="20" height="20" />${name ?? defaultName}</a>
    <nav aria-label="Documentation">
      ${sections.map(([path, title]) =>
        path === current
          ? html`<a href="${path}" aria-current="true">${title}</a> `
          : html`<a href="${path}">${title}</a> `,
      )}
    </nav>
    <form role="search" action="${searchPath}">
      <input
        type="search"
        name="q"
        value="${query}"
        maxlength="100"
        autocomplete="off"
        placeholder="Search"
        aria-label="Search the documentation"
      />
    </form>
  </header>`
}

interface DocsPageParts {
  title: string
  section: Section | null
  query?: string
  /** The navigation beside the page. */
  side?: Html
  /** The headings of the page. */
  contents?: { id: string; title: string }[]
  body: Html
}

/** A complete documentation page. */
export function docsPageOf({ title, section, query, side, contents = [], body }: DocsPageParts): string {
  return htmlDocument({
    title: `${title} · ${brand().name ?? defaultName}`,
    icon: brand().iconUrl,
    style: style + brand().css,
    head: html`<script src="${docsScriptPath}" defer></script>`,
    body: html`${docsHeader(section, query)}
      <div class="frame ${side === undefined ? '' : 'with-side'}">
        ${side ?? null}
        <main>${body}</main>
        ${contents.length < 2 ? null : contentsOf(contents)}
      </div>`,
  })
}

function contentsOf(contents: { id: string; title: string }[]): Html {
  return html`<nav class="toc" aria-label="On this page">
    <h2>On this page</h2>
    <ul>
      ${contents.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li> `)}
    </ul>
  </nav>`
}

export interface NavigationGroup {
  title: string
  links: { href: string; title: string }[]
}

/** @param current the `href` of the page itself. */
export function navigation(label: string, groups: NavigationGroup[], current: string | null): Html {
  return html`<nav class="side" aria-label="${label}">
    ${groups.map(
      ({ title, links }) =>
        html`<h2>${title}</h2>
          <ul>
            ${links.map((link) =>
              link.href === current
                ? html`<li><a href="${link.href}" aria-current="page">${link.title}</a></li> `
                : html`<li><a href="${link.href}">${link.title}</a></li> `,
            )}
          </ul>`,
    )}
  </nav>`
}
