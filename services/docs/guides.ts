// The user guides at /docs/guides: the Markdown files of docs/guides/, rendered as pages without scripts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { Html, html } from '../../infra/html/html.ts'
import { docsPageOf } from './docs-layout.ts'

const folder = join(import.meta.dirname, '../../docs/guides')

/** The guides in the order in which they are listed; each is a file of docs/guides/. */
export const guideNames = [
  'quickstart',
  'authentication',
  'sign-in',
  'browser-sign-in',
  'your-account',
  'organizations',
  'errors',
  'pagination',
  'idempotency',
  'files',
  'folders-and-sync',
  'sharing-files',
  'knowledge-and-chat',
  'models-and-messages',
  'openai-clients',
  'openai-answers',
  'payments',
  'subscriptions',
  'usage-billing',
  'selling',
  'customer-portal',
  'events-and-webhooks',
  'versioning',
  'console',
  'typescript-client',
  'python-client',
  'command-line',
  'generated-clients',
] as const

interface Guide {
  name: string
  title: string
  /** The first paragraph. */
  summary: Html
  /** The same in Markdown, on one line. */
  summaryText: string
  body: Html
}

const rendered = new Map<string, Guide>()

/** Renders each guide once. Guides are files of this project, so their HTML is trusted. */
function guideOf(name: string): Guide {
  let guide = rendered.get(name)
  if (guide === undefined) {
    guide = render(name, guideText(name))
    rendered.set(name, guide)
  }
  return guide
}

function render(name: string, markdown: string): Guide {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const content = this.parser.parseInline(tokens)
        return `<h${depth} id="${anchorOf(text)}">${content}</h${depth}>\n`
      },
      code({ text }: Tokens.Code) {
        return `${html`<pre tabindex="0">${text}</pre>`}\n`
      },
    },
  })
  const tokens = marked.lexer(markdown)
  marked.walkTokens(tokens, (token) => {
    if (token.type === 'link') token.href = pageOf(token.href)
  })
  const title = tokens.find((token) => token.type === 'heading') as Tokens.Heading | undefined
  const first = tokens.find((token) => token.type === 'paragraph') as Tokens.Paragraph | undefined
  if (title === undefined || first === undefined)
    throw new Error(`docs/guides/${name}.md needs a heading and a first paragraph`)
  return {
    name,
    title: title.text,
    // From the tokens, whose links are those of the pages.
    summary: new Html(marked.parser([first])),
    summaryText: first.text.replace(/\s+/g, ' '),
    body: new Html(marked.parser(tokens.filter((token) => token !== title))),
  }
}

/** A link to another guide's file becomes a link to its page. */
function pageOf(href: string): string {
  return href.replace(/^([a-z-]+)\.md(?=#|$)/, '/docs/guides/$1')
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replace(/\s+/g, '-')
}

/** The Markdown of a guide. */
export function guideText(name: string): string {
  return readFileSync(join(folder, `${name}.md`), 'utf8')
}

/** The title and the first sentence of each guide. */
export function guideSummaries(): { name: string; title: string; summary: string }[] {
  return guideNames.map((name) => {
    const { title, summaryText } = guideOf(name)
    return { name, title, summary: summaryText.split(/(?<=[.:]) /)[0] }
  })
}

/** The page of one guide, with links to all others. */
export function guidePage(name: string): string {
  const { title, body } = guideOf(name)
  const others = guideNames.map((other) =>
    other === name
      ? html`<li>${title}</li> `
      : html`<li><a href="/docs/guides/${other}">${guideOf(other).title}</a></li> `,
  )
  return docsPageOf({
    title,
    body: html`<h1>${title}</h1>
${body}
<nav aria-label="Guides"><h2>All guides</h2><ul>${others}</ul></nav>`,
  })
}

/** The list of all guides. */
export function guidesPage(): string {
  const items = guideNames
    .map(guideOf)
    .map(
      ({ name, title, summary }) =>
        html`<article><h2><a href="/docs/guides/${name}">${title}</a></h2>${summary}</article> `,
    )
  return docsPageOf({
    title: 'Guides',
    body: html`<h1>Guides</h1>
${items}`,
  })
}
