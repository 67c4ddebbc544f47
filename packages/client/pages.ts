// Lists from end to end: a page is asked for when the one before has been read, and none ahead of it. A list by pages is
// not held still while it is read: what is added or removed meanwhile may be seen twice or not at all. One that goes on
// after what was seen (`after`) misses nothing.

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

/** The pages of a list, beginning with the one that the query names. */
export async function* pagesOf(
  kind: ListKind,
  input: ListInput,
  ask: (input: ListInput) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let query = { ...input.query }
  for (;;) {
    input.signal?.throwIfAborted()
    const page = await ask({ ...input, query })
    yield page
    const next = kind === 'after' ? afterOf(page) : pageAfter(query.page ?? 1, page)
    if (next === null) return
    query = { ...query, ...next }
  }
}

/** Their items. */
export async function* itemsOf(
  kind: ListKind,
  input: ListInput,
  ask: (input: ListInput) => Promise<Page>,
): AsyncGenerator<unknown, void, undefined> {
  for await (const { data } of pagesOf(kind, input, ask)) {
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
