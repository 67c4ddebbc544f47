// Pages of lists: where one starts in the database and what its answer looks like.
import { statementOf, type Db } from './database.ts'

export interface PageQuery {
  page: number
  limit: number
}

export interface Page<Item> {
  data: Item[]
  pagination: { page: number; limit: number; total: number; total_pages: number }
}

/** How many items come before the page. */
export function offsetOf({ page, limit }: PageQuery): number {
  return (page - 1) * limit
}

/** The same for Prisma: skip, take and the order, ties broken by id. `columns` are the sort keys' names in the model. */
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
 * A page of rows that carry the `total` beside them. A page past the end is one row with nothing but the total,
 * so that the total needs no statement of its own.
 */
export function pageOfRows<Item extends { id: string }>(
  rows: Array<Item & { total: number }>,
  query: PageQuery,
): Page<Item> {
  const data: Item[] = []
  for (const { total: _total, ...item } of rows) if (item.id !== null) data.push(item as unknown as Item)
  return pageOf(data, rows[0]?.total ?? 0, query)
}

export interface Listing {
  from: string
  columns: string
  filters: string[]
  values: unknown[]
  /** What it is sorted by; ties are broken by `id`. */
  key: string
  id: string
  searches?: boolean
}

/** A page of a listing, with how many there are in all: one statement. */
export async function listPage<Item extends { id: string }>(
  db: Db,
  { from, columns, filters, values: given, key, id, searches = false }: Listing,
  query: PageQuery & { order: 'asc' | 'desc' },
): Promise<Page<Item>> {
  const values = [...given]
  const where = filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const order = key === id ? `${id} ${direction}` : `${key} ${direction}, ${id} ${direction}`
  const text = `SELECT t.total::int, x.* FROM (SELECT count(*) AS total FROM ${from} ${where}) t
    LEFT JOIN LATERAL (SELECT ${columns} FROM ${from} ${where} ORDER BY ${order} LIMIT $${values.push(query.limit)} OFFSET $${values.push(offsetOf(query))}) x ON true`
  return pageOfRows(await db.sql(statementOf<Item & { total: number }>(text, { searches }), values), query)
}

/** Text in which LIKE finds nothing but letters. Prisma's `contains` wants it too: it escapes nothing itself. */
export function literal(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Text as a LIKE pattern that finds it anywhere. */
export function containing(text: string): string {
  return `%${literal(text)}%`
}
