// Offset pagination: the queries and the response of a list.
import type { Db } from './database.ts'
import { statementOf } from './statements.ts'

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

export interface Listing {
  /** The FROM clause. */
  from: string
  columns: string
  /** Conditions, joined by AND. */
  filters: string[]
  /** The values of the numbered parameters in `from`, `columns`, `filters` and `total`. */
  values: unknown[]
  /** The sort column. Ties are broken by `id`. */
  key: string
  id: string
  /** A query that reads `total` from a counter table. Default: counts the matching rows. */
  total?: string
  /** True when the best plan depends on the values: the statement is not prepared. Default false. */
  searches?: boolean
}

/**
 * The largest `limit` of any list. The constant in the inner LIMIT makes PostgreSQL plan the prepared
 * statement for few rows.
 */
const maxLimit = 100

/** One page of a list with the total number of items, in one statement. */
export async function listPage<Item extends { id: string }>(
  db: Db,
  { from, columns, filters, values: given, key, id, total, searches = false }: Listing,
  query: PageQuery & { order: 'asc' | 'desc' },
): Promise<Page<Item>> {
  const values = [...given]
  const value = (v: unknown): string => `$${values.push(v)}`
  const where = filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const order = key === id ? `${id} ${direction}` : `${key} ${direction}, ${id} ${direction}`
  const offset = query.page === 1 ? '' : `OFFSET ${value(offsetOf(query))}`
  const text = `
    SELECT t.total::int, x.* FROM (${total ?? `SELECT count(*) AS total FROM ${from} ${where}`}) t
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT ${columns} FROM ${from} ${where} ORDER BY ${order} LIMIT ${maxLimit} ${offset}
      ) page LIMIT ${value(query.limit)}
    ) x ON true`
  return pageOfRows(await db.sql(statementOf<Item & { total: number }>(text, { searches }), values), query)
}

/** Escapes text for LIKE, and for Prisma's `contains`, which does not escape it. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A LIKE pattern for values that contain the text. */
export function containsPattern(text: string): string {
  return `%${escapeLike(text)}%`
}
