// Offset pagination: what a request asks for, and the response of a list.
export interface PageQuery {
  page: number
  limit: number
}

export interface Page<Item> {
  data: Item[]
  pagination: { page: number; limit: number; total: number; total_pages: number }
}

/** The number of items before the page. */
export function offsetOf({ page, limit }: PageQuery): number {
  return (page - 1) * limit
}

/**
 * The arguments of a Prisma query for a page. Ties are broken by id.
 * @param columns the model's fields for the sort keys.
 */
export function pageArgs<Sort extends string>(
  query: PageQuery & { sort: Sort; order: 'asc' | 'desc' },
  columns: Record<Sort, string>,
) {
  return {
    orderBy: [{ [columns[query.sort]]: query.order }, { id: query.order }],
    skip: offsetOf(query),
    take: query.limit,
  }
}

export function pageOf<Item>(data: Item[], total: number, { page, limit }: PageQuery): Page<Item> {
  return { data, pagination: { page, limit, total, total_pages: Math.ceil(total / limit) } }
}

/**
 * A page from rows that each contain the `total`, so that the total needs no statement of its own. For a page
 * past the end there is one row: the total, and null in all other columns.
 */
export function pageOfRows<Item extends { id: string }>(
  rows: Array<Item & { total: number }>,
  query: PageQuery,
): Page<Item> {
  const data: Item[] = []
  for (const { total: _total, ...item } of rows) if (item.id !== null) data.push(item as unknown as Item)
  return pageOf(data, rows[0]?.total ?? 0, query)
}

/** Escapes text for LIKE, and for Prisma's `contains`, which does not escape it. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A LIKE pattern for values that contain the text. */
export function containsPattern(text: string): string {
  return `%${escapeLike(text)}%`
}
