// Pagination: what a request asks for, and the response of a list.
export interface PageQuery {
  page: number
  limit: number
  /** The `next_cursor` of the page before. Takes the place of `page`. */
  cursor?: string
}

export interface Page<Item> {
  data: Item[]
  pagination: {
    page: number
    limit: number
    total: number
    total_pages: number
    has_more: boolean
    /** Where the next page begins; null on the last page. */
    next_cursor: string | null
  }
}

/** The number of items before the page. */
export function offsetOf({ page, limit }: PageQuery): number {
  return (page - 1) * limit
}

/** @param nextCursor null on the last page. */
export function pageOf<Item>(
  data: Item[],
  total: number,
  { page, limit }: PageQuery,
  nextCursor: string | null,
): Page<Item> {
  const totalPages = Math.ceil(total / limit)
  return {
    data,
    pagination: {
      page,
      limit,
      total,
      total_pages: totalPages,
      has_more: nextCursor !== null,
      next_cursor: nextCursor,
    },
  }
}

/** Escapes text for LIKE, and for Prisma's `contains`, which does not escape it. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A LIKE pattern for values that contain the text. */
export function containsPattern(text: string): string {
  return `%${escapeLike(text)}%`
}
