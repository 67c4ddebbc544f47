// The user guides at /docs/guides: the Markdown files of docs/guides/, rendered as pages.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { Html, html } from '../../infra/html/html.ts'
import { docsPageOf, navigation } from './docs-layout.ts'
import { highlighted } from './highlight.ts'
import { docsData } from './openapi-samples.ts'

const folder = join(import.meta.dirname, '../../docs/guides')

/** The guides in the order in which they are listed; each is a file of docs/guides/. */
const groups = [
  {
    title: 'Start',
    names: ['quickstart', 'authentication', 'errors', 'pagination', 'idempotency', 'versioning'],
  },
  { title: 'Accounts', names: ['sign-in', 'browser-sign-in', 'your-account', 'organizations'] },
  { title: 'Files', names: ['files', 'folders-and-sync', 'sharing-files'] },
  { title: 'AI', names: ['knowledge-and-chat', 'models-and-messages', 'openai-clients', 'openai-answers'] },
  { title: 'Payments', names: ['payments', 'subscriptions', 'usage-billing', 'selling', 'customer-portal'] },
  { title: 'Events', names: ['events-and-webhooks'] },
  {
    title: 'Tools',
    names: ['console', 'typescript-client', 'python-client', 'command-line', 'generated-clients'],
  },
]

export const guideNames: readonly string[] = groups.flatMap(({ names }) => names)

/** A part of a guide, up to the next heading. The first one has the title of the guide. */
export interface GuideSection {
  id: string
  title: string
  /** Without markup and code. */
  text: string
}

interface Guide {
  name: string
  title: string
  /** The first paragraph. */
  summary: Html
  /** The same in Markdown, on one line. */
  summaryText: string
  body: Html
  sections: GuideSection[]
  /** Whether some of its commands are there for the clients, too. */
  isTranslated: boolean
}

/** A block of code, and the same for the clients. */
type Code = Tokens.Code & { html: Html; samples?: { typescript: Html; python: Html } }

let samplesByGuide: ReturnType<typeof docsData>['guides'] | undefined

const rendered = new Map<string, Promise<Guide>>()

/** Renders each guide once. Guides are files of this project, so their HTML is trusted. */
function guideOf(name: string): Promise<Guide> {
  let guide = rendered.get(name)
  if (guide === undefined) {
    guide = render(name, guideText(name))
    rendered.set(name, guide)
  }
  return guide
}

async function render(name: string, markdown: string): Promise<Guide> {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const content = this.parser.parseInline(tokens)
        return `<h${depth} id="${anchorOf(text)}">${content}</h${depth}>\n`
      },
      code(token: Tokens.Code) {
        return `${codeOf(token as Code)}\n`
      },
    },
  })
  const tokens = marked.lexer(markdown)
  await Promise.all(marked.walkTokens(tokens, prepare) as Array<Promise<void>>)
  const isTranslated = await addSamples(name, tokens)
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
    sections: sectionsOf(tokens),
    isTranslated,
  }
}

async function prepare(token: Token): Promise<void> {
  if (token.type === 'link') token.href = pageOf(token.href)
  if (token.type === 'code') (token as Code).html = await highlighted(token.text, token.lang ?? '')
}

/** Adds to each block of commands the same for the clients. @returns whether there is any. */
async function addSamples(name: string, tokens: Token[]): Promise<boolean> {
  const blocks = tokens.filter((token): token is Code => token.type === 'code' && token.lang === 'sh')
  // Read once: parsing the file for each guide would block other requests.
  samplesByGuide ??= docsData().guides
  const samples = samplesByGuide[name] ?? []
  for (const [i, block] of blocks.entries()) {
    const sample = samples[i]
    if (sample == null) continue
    const [typescript, python] = [highlighted(sample.typescript, 'ts'), highlighted(sample.python, 'python')]
    block.samples = { typescript: await typescript, python: await python }
  }
  return blocks.some((block) => block.samples !== undefined)
}

function codeOf({ html: code, samples }: Code): Html {
  if (samples === undefined) return html`<pre tabindex="0">${code}</pre>`
  return html`<pre class="in-shell" tabindex="0">${code}</pre>
    <pre class="in-typescript" tabindex="0">${samples.typescript}</pre>
    <pre class="in-python" tabindex="0">${samples.python}</pre>`
}

const languageChoice = html`<fieldset class="languages">
  <legend>Code for</legend>
  <label><input type="radio" name="language" id="shell" checked />curl</label>
  <label><input type="radio" name="language" id="typescript" />TypeScript</label>
  <label><input type="radio" name="language" id="python" />Python</label>
</fieldset>`

function sectionsOf(tokens: Token[]): GuideSection[] {
  const sections: GuideSection[] = []
  for (const token of tokens) {
    if (token.type === 'heading')
      sections.push({ id: anchorOf(token.text), title: plain(token.text), text: '' })
    else if (token.type !== 'code') sections.at(-1)!.text += `${plain(token.raw)} `
  }
  return sections
}

/** Markdown without its marks. */
function plain(markdown: string): string {
  return markdown
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[`*|[\]]|^[#\s-]+/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
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

/** The title and the first sentence of each guide, and its sections. */
export async function guideSummaries(): Promise<
  { name: string; title: string; summary: string; sections: GuideSection[] }[]
> {
  const guides = await Promise.all(guideNames.map(guideOf))
  return guides.map(({ name, title, summaryText, sections }) => ({
    name,
    title,
    summary: summaryText.split(/(?<=[.:]) /)[0],
    sections,
  }))
}

/** The page of one guide, with links to all others. */
export async function guidePage(name: string): Promise<string> {
  const { title, body, sections, isTranslated } = await guideOf(name)
  return docsPageOf({
    title,
    section: '/docs/guides',
    side: await sideOf(`/docs/guides/${name}`),
    contents: sections.slice(1),
    body: html`<h1>${title}</h1>
      ${isTranslated ? languageChoice : null} ${body}`,
  })
}

async function sideOf(current: string | null): Promise<Html> {
  const titled = await Promise.all(
    groups.map(async ({ title, names }) => {
      const guides = await Promise.all(names.map(guideOf))
      return {
        title,
        links: guides.map((guide) => ({ href: `/docs/guides/${guide.name}`, title: guide.title })),
      }
    }),
  )
  return navigation('Guides', titled, current)
}

/** The list of all guides. */
export async function guidesPage(): Promise<string> {
  const items = (await Promise.all(guideNames.map(guideOf))).map(
    ({ name, title, summary }) =>
      html`<article class="guide">
        <h2><a href="/docs/guides/${name}">${title}</a></h2>
        ${summary}
      </article> `,
  )
  return docsPageOf({
    title: 'Guides',
    section: '/docs/guides',
    side: await sideOf(null),
    body: html`<h1>Guides</h1>
      ${items}`,
  })
}
