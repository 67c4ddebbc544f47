// The search over the documentation at /docs/search: guides by section, operations, errors and events.
import type MiniSearch from 'minisearch'
import { html, type Html } from '../../infra/html/html.ts'
import { truncateText } from '../../infra/text.ts'
import { areas } from './areas.ts'
import { docsPageOf } from './docs-layout.ts'
import { guideSummaries } from './guides.ts'
import { docsData } from './openapi-samples.ts'

interface Entry {
  /** The address. */
  id: string
  kind: 'Guide' | 'Operation' | 'Error' | 'Event'
  title: string
  /** Shown below the title. */
  note: string
  text: string
}

/** What is read of a query, in characters. */
const maxQueryLength = 100

const maxResults = 20

let index: Promise<MiniSearch<Entry>> | undefined

async function createIndex(): Promise<MiniSearch<Entry>> {
  // Loaded with the first search.
  const { default: Search } = await import('minisearch')
  const search = new Search<Entry>({
    fields: ['title', 'note', 'text'],
    storeFields: ['kind', 'title', 'note'],
    searchOptions: {
      boost: { title: 3, note: 2 },
      prefix: true,
      fuzzy: (word) => (word.length > 4 ? 0.2 : false),
      combineWith: 'AND',
      boostDocument: (_id, _word, stored) => (stored!.kind === 'Guide' ? 1.5 : 1),
    },
  })
  // In parts, so that other requests are answered in between.
  await search.addAllAsync(await entries(), { chunkSize: 20 })
  return search
}

async function entries(): Promise<Entry[]> {
  const { errors, events } = docsData()
  const guides = (await guideSummaries()).flatMap(({ name, title: guide, summary, sections }) =>
    sections.map(({ id, title, text }, i): Entry => ({
      id: `/docs/guides/${name}${i === 0 ? '' : `#${id}`}`,
      kind: 'Guide',
      title: i === 0 ? guide : `${guide}: ${title}`,
      note: i === 0 ? summary : beginning(text),
      text,
    })),
  )
  const operations = areas().flatMap(({ tags }) =>
    tags.flatMap(({ title, operations }) =>
      operations.map(({ href, method, path, summary, description }): Entry => ({
        id: href,
        kind: 'Operation',
        title: summary,
        note: `${method} ${path}`,
        text: `${title} ${description}`,
      })),
    ),
  )
  return [
    ...guides,
    ...operations,
    ...errors.map(({ code, means, when, do: remedy }): Entry => ({
      id: `/docs/errors#${code}`,
      kind: 'Error',
      title: code,
      note: means,
      text: `${when} ${remedy}`,
    })),
    ...events.map(({ type, description }): Entry => ({
      id: `/docs/events#${type}`,
      kind: 'Event',
      title: type,
      note: description,
      text: '',
    })),
  ]
}

/** At most 120 characters, in whole words. */
function beginning(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 120).replace(/\s+\S*$/, '')} …`
}

/** The page with the results for a query. */
export async function searchPage(query: string): Promise<string> {
  const text = truncateText(query, maxQueryLength)
  const found = text.trim() === '' ? [] : await results(text)
  return docsPageOf({
    title: 'Search',
    section: null,
    query: text,
    body: html`<h1>Search</h1>
      <ul class="results">
        ${found.length > 0 ? found : html`<li class="soft">Nothing was found.</li>`}
      </ul>`,
  })
}

async function results(text: string): Promise<Html[]> {
  index ??= createIndex()
  const found = (await index).search(text).slice(0, maxResults)
  return found.map(
    ({ id, kind, title, note }) =>
      html`<li>
        <a href="${id}"
          ><span class="kind">${kind}</span><strong>${title}</strong><small>${withoutMarks(note)}</small></a
        >
      </li> `,
  )
}

const withoutMarks = (text: string): string => text.replaceAll('`', '')
