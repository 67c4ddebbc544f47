// Pages of lists: where one starts in the database and what its answer looks like.

export interface PageQuery { page: number, limit: number }

export interface Page<Item> {
  data: Item[]
  pagination: { page: number, limit: number, total: number, total_pages: number }
}

/** How many items come before the page. */
export function offsetOf ({ page, limit }: PageQuery): number {
  return (page - 1) * limit
}

/** The same for Prisma: skip, take and the order, ties broken by id. `columns` are the sort keys' names in the model. */
export function pageArgs<Sort extends string> (query: PageQuery & { sort: Sort, order: 'asc' | 'desc' }, columns: Record<Sort, string>) {
  return { orderBy: [{ [columns[query.sort]]: query.order }, { id: query.order }], skip: offsetOf(query), take: query.limit }
}

export function pageOf<Item> (data: Item[], total: number, { page, limit }: PageQuery): Page<Item> {
  return { data, pagination: { page, limit, total, total_pages: Math.ceil(total / limit) } }
}

/**
 * A page of rows that carry the `total` beside them. A page past the end is one row with nothing but the total,
 * so that the total needs no statement of its own.
 */
export function pageOfRows<Item extends { id: string }> (rows: Array<Item & { total: number }>, query: PageQuery): Page<Item> {
  const data: Item[] = []
  for (const { total: _total, ...item } of rows) if (item.id !== null) data.push(item as unknown as Item)
  return pageOf(data, rows[0]?.total ?? 0, query)
}

/** Text in which LIKE finds nothing but letters. Prisma's `contains` wants it too: it escapes nothing itself. */
export function literal (text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Text as a LIKE pattern that finds it anywhere. */
export function containing (text: string): string {
  return `%${literal(text)}%`
}
