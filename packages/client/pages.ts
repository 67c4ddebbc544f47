// Iterates over lists. A page is requested when the previous one has been read. In lists by page number,
// items may appear twice or not at all if the list changes in between; lists with the cursor `after` are
// complete.

export interface ListInput {
  query?: Record<string, any>
  signal?: AbortSignal
}

export interface Page {
  data: unknown[]
  pagination?: { total_pages: number }
  has_more?: boolean
  next_after?: number
}

export type ListKind = 'pages' | 'after'

/** The pages of a list, starting with the page in the query. */
export async function* pagesOf(
  kind: ListKind,
  input: ListInput,
  fetchPage: (input: ListInput) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let query = { ...input.query }
  for (;;) {
    input.signal?.throwIfAborted()
    const page = await fetchPage({ ...input, query })
    yield page
    const next = kind === 'after' ? afterOf(page) : pageAfter(query.page ?? 1, page)
    if (next === null) return
    query = { ...query, ...next }
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
      input.signal?.throwIfAborted()
      yield item
    }
  }
}

function pageAfter(page: number, { data, pagination }: Page): { page: number } | null {
  return data.length === 0 || page >= (pagination?.total_pages ?? Infinity) ? null : { page: page + 1 }
}

function afterOf({ has_more: hasMore, next_after: after }: Page): { after: number } | null {
  return hasMore === true ? { after: after! } : null
}
