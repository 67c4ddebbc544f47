// Iterates over lists. A page is requested when the previous one has been read, and continues after its last
// item: every item that exists all along appears exactly once, also if the list changes in between.

import { throwIfAborted } from './error.ts'

export interface ListInput {
  query?: Record<string, any>
  signal?: AbortSignal
}

export interface Page {
  data: unknown[]
  pagination?: { next_cursor: string | null }
  has_more?: boolean
  next_cursor?: string
}

export type ListKind = 'pages' | 'log'

/** The pages of a list, starting with the page in the query. */
export async function* pagesOf(
  kind: ListKind,
  input: ListInput,
  fetchPage: (input: ListInput) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let query: Record<string, any> = { ...input.query }
  for (;;) {
    throwIfAborted(input.signal)
    const page = await fetchPage({ ...input, query })
    yield page
    const next = kind === 'log' ? placeInLog(page) : cursorOf(page)
    if (next === null) return
    const { page: _page, ...rest } = query
    query = { ...rest, ...next }
  }
}

/** The items of all pages. */
export async function* itemsOf(
  kind: ListKind,
  input: ListInput,
  fetchPage: (input: ListInput) => Promise<Page>,
): AsyncGenerator<unknown, void, undefined> {
  for await (const { data } of pagesOf(kind, input, fetchPage)) {
    for (const item of data) {
      throwIfAborted(input.signal)
      yield item
    }
  }
}

function cursorOf({ pagination }: Page): { cursor: string } | null {
  const cursor = pagination?.next_cursor ?? null
  return cursor === null ? null : { cursor }
}

function placeInLog({ has_more: hasMore, next_cursor: cursor }: Page): { cursor: string } | null {
  return hasMore === true ? { cursor: cursor! } : null
}

/**
 * The first page as a promise. As an iterator it yields the items of all pages, `pages()` the pages; both
 * start with the page that has been requested.
 */
export function listAnswer<Answer extends Promise<Page>>(
  kind: ListKind,
  input: ListInput,
  first: Answer,
  fetchPage: (input: ListInput) => Promise<Page>,
): Answer & AsyncIterable<unknown> & { pages(): AsyncGenerator<Page, void, undefined> } {
  const fetching = (): ((next: ListInput) => Promise<Page>) => {
    let requested: Promise<Page> | undefined = first
    return (next) => {
      const page = requested ?? fetchPage(next)
      requested = undefined
      return page
    }
  }
  return Object.assign(first, {
    [Symbol.asyncIterator]: () => itemsOf(kind, input, fetching()),
    pages: () => pagesOf(kind, input, fetching()),
  })
}
