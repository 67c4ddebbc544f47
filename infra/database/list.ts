// The pages of a list: one statement that reads a page and the total, composed from a list in prisma/sql. A
// page begins at an offset, or after the item that a cursor names.
import { decodeCursor, encodeCursor, fingerprintOf, invalidCursor, type Position } from './cursor.ts'
import type { SqlClient } from './database.ts'
import { isInvalidValue } from './errors.ts'
import { offsetOf, pageOf, type Page, type PageQuery } from './pagination.ts'
import { valuesOf } from './queries.ts'
import { statement, type Statement } from './statements.ts'

export interface List {
  /** SELECT … FROM … WHERE …, without ORDER BY. */
  select: string
  /** The names of the numbered parameters in all parts. */
  names: string[]
  /** Conditions by the parameter that turns each on. */
  filters: Record<string, Filter>
  /** The sort keys. */
  sorts: Record<string, string>
  /** A unique column, which breaks ties. */
  id: string
  /** Queries that read the `total`, by the names of the chosen filters. Default: counts the rows. */
  totals: Record<string, string>
}

interface Filter {
  sql: string
  /** The condition of the list without this filter. Default: none. */
  otherwise?: string
  /** The best plan depends on the value, so the statement is not prepared. Default false. */
  searches?: boolean
}

export type Order = 'asc' | 'desc'

type PageParameters<Parameters, Filters, Sort> = Parameters & {
  [Name in keyof Filters]?: Filters[Name] | undefined
} & PageQuery & { sort: Sort; order: Order }

/** No parameter besides those of the list: TypeScript itself allows them in a spread object. */
type Exactly<Given, Known> = Given & { [Name in Exclude<keyof Given, keyof Known>]: NoFilterInSql<Name> }

/** No value has this type; the compiler's message names it: the file of the list has no such `-- @filter`. */
interface NoFilterInSql<Name> {
  neverGiven: [Name, never]
}

export type ListQuery<Parameters, Filters, Sort, Row> = {
  <Given extends PageParameters<Parameters, Filters, Sort>>(
    db: SqlClient,
    parameters: Exactly<Given, PageParameters<Parameters, Filters, Sort>>,
  ): Promise<Page<Row>>
  /** All rows, read in pages by cursor, without a total. */
  all<Given extends Omit<PageParameters<Parameters, Filters, Sort>, keyof PageQuery>>(
    db: SqlClient,
    parameters: Exactly<Given, PageParameters<Parameters, Filters, Sort>>,
  ): AsyncGenerator<Row, void>
  /**
   * A page without a total that begins after the item with this id, or at the start. Only for a sort key that
   * is the id.
   */
  after<Given extends Omit<PageParameters<Parameters, Filters, Sort>, 'page' | 'cursor'>>(
    db: SqlClient,
    id: string | undefined,
    parameters: Exactly<Given, PageParameters<Parameters, Filters, Sort>>,
  ): Promise<Page<Row>>
  label: string
  list: List
}

/**
 * The largest `limit` of any list, and one more row to see whether another page follows. The constant in the
 * inner LIMIT makes PostgreSQL plan the prepared statement for few rows.
 */
const maxRows = 101

/** The statement's own columns: the total, and the sort values of the item. */
interface OwnColumns {
  total: number
  sort_values: string[]
}

export function page<Parameters, Filters, Sort extends string, Row extends { id: string }>(
  label: string,
  list: List,
): ListQuery<Parameters, Filters, Sort, Row> {
  const composed = new Map<string, ComposedList>()
  const composeOnce = (choice: Choice): ComposedList => {
    const { filters, sort, order, start, uncounted = false } = choice
    const key = `${filters.join(' ')}|${sort}|${order}|${start}|${uncounted}`
    let found = composed.get(key)
    if (found === undefined) composed.set(key, (found = compose(label, list, choice)))
    return found
  }
  const read = async (
    db: SqlClient,
    parameters: PageParameters<Parameters, Filters, Sort>,
    { uncounted = false, after }: { uncounted?: boolean; after?: string } = {},
  ): Promise<Page<Row>> => {
    const choice = { ...choiceOf(list, parameters), uncounted }
    const { statement, names, keys } = composeOnce(
      after === undefined ? choice : { ...choice, start: 'cursor' },
    )
    const { sort, order, limit, cursor } = parameters
    const fingerprint = fingerprintOf(label, sort, order, selectionOf(list, parameters))
    const from = cursor === undefined ? null : startOf(cursor, fingerprint, keys)
    const query = { ...parameters, page: from?.page ?? parameters.page }
    const own = {
      offset: offsetOf(query),
      after_value: from?.values[0],
      after_id: after ?? from?.values.at(-1),
    }
    const rows = await db
      .sql(statement as Statement<Row & OwnColumns>, valuesOf(names, { ...query, ...own, limit: limit + 1 }))
      .catch((error: unknown) => {
        throw from !== null && isInvalidValue(error) ? invalidCursor() : error
      })
    const next = rows.length > limit ? { page: query.page + 1, values: rows[limit - 1].sort_values } : null
    return pageOf(
      itemsOf(rows.slice(0, limit)),
      rows[0]?.total ?? 0,
      query,
      next === null ? null : encodeCursor(fingerprint, next),
    )
  }
  async function* all(
    db: SqlClient,
    parameters: Omit<PageParameters<Parameters, Filters, Sort>, keyof PageQuery>,
  ): AsyncGenerator<Row, void> {
    const query = { ...parameters, page: 1, limit: maxRows - 1 } as PageParameters<Parameters, Filters, Sort>
    for (let cursor: string | null = null; ;) {
      const page: Page<Row> = await read(db, cursor === null ? query : { ...query, cursor }, {
        uncounted: true,
      })
      yield* page.data
      cursor = page.pagination.next_cursor
      if (cursor === null) return
    }
  }
  return Object.assign(
    (db: SqlClient, parameters: PageParameters<Parameters, Filters, Sort>) => read(db, parameters),
    {
      all,
      after: (
        db: SqlClient,
        id: string | undefined,
        parameters: Omit<PageParameters<Parameters, Filters, Sort>, 'page' | 'cursor'>,
      ) =>
        read(db, { ...parameters, page: 1 } as PageParameters<Parameters, Filters, Sort>, {
          uncounted: true,
          after: id,
        }),
      label,
      list,
    },
  )
}

/** A page of a short list that is not in the database. The items are sorted by id. */
export function pageOfArray<Item extends { id: string }>(
  label: string,
  items: Item[],
  query: PageQuery & { order: Order },
): Page<Item> {
  const { limit, order, cursor } = query
  const fingerprint = fingerprintOf(label, order)
  const from = cursor === undefined ? null : startOf(cursor, fingerprint, ['id'])
  const page = from?.page ?? query.page
  const isAfter = ({ id }: Item): boolean => (order === 'asc' ? id > from!.values[0] : id < from!.values[0])
  const rest = from === null ? items.slice(offsetOf(query)) : items.filter(isAfter)
  const next =
    rest.length > limit ? encodeCursor(fingerprint, { page: page + 1, values: [rest[limit - 1].id] }) : null
  return pageOf(rest.slice(0, limit), items.length, { page, limit }, next)
}

/** The parameters that `compose` adds to those of the list. */
const ownParameters = ['offset', 'limit', 'after_value', 'after_id']

/** The filters with their values, and the ids in the path. */
function selectionOf({ names, filters }: List, parameters: object): unknown[] {
  const given = parameters as Record<string, unknown>
  const ids = names.filter((name) => typeof given[name] === 'string')
  return [...new Set([...ids, ...Object.keys(filters)])].map((name) => given[name])
}

function startOf(cursor: string, fingerprint: string, keys: string[]): Position {
  const position = decodeCursor(cursor, fingerprint)
  if (position.values.length !== keys.length) throw invalidCursor()
  return position
}

/** For a page past the end there is one row: the total, and null in all other columns. */
function itemsOf<Row extends { id: string }>(rows: Array<Row & OwnColumns>): Row[] {
  const items: Row[] = []
  for (const { total: _total, sort_values: _values, ...item } of rows)
    if (item.id !== null) items.push(item as unknown as Row)
  return items
}

/** The choices that determine the text of the statement. */
export interface Choice {
  filters: string[]
  sort: string
  order: Order
  start: (typeof starts)[number]
  /** Whether the statement reads no total. */
  uncounted?: boolean
}

/** Where a page begins: at the start of the list, after some number of items, or after a given item. */
const starts = ['first', 'offset', 'cursor'] as const

function choiceOf(list: List, parameters: PageQuery & { sort: string; order: Order }): Choice {
  const given = parameters as unknown as Record<string, unknown>
  const { page: number, sort, order, cursor } = parameters
  return {
    filters: Object.keys(list.filters).filter((name) => given[name] !== undefined),
    sort,
    order,
    start: cursor !== undefined ? 'cursor' : number === 1 ? 'first' : 'offset',
  }
}

interface ComposedList {
  statement: Statement<unknown>
  names: string[]
  /** The expressions that the list is sorted by. */
  keys: string[]
}

/** The statement for a choice, and the names of its parameters in order. */
export function compose(
  label: string,
  list: List,
  { filters, sort, order, start, uncounted = false }: Choice,
): ComposedList {
  const sortKey = list.sorts[sort]
  const keys = sortKey === list.id ? [list.id] : [sortKey, list.id]
  const conditions = Object.entries(list.filters).flatMap(([name, { sql, otherwise }]) =>
    filters.includes(name) ? [sql] : (otherwise ?? []),
  )
  const select = [list.select, ...conditions.map((condition) => `AND (${condition})`)].join('\n')
  const total = uncounted
    ? 'SELECT 0 AS total'
    : (list.totals[filters.join(' ')] ?? `SELECT count(*) AS total FROM (${select}) counted`)
  const all = [...list.names, ...ownParameters]
  const own = (name: string): string => `$${all.indexOf(name) + 1}`
  const after = keys.length === 1 ? own('after_id') : `(${own('after_value')}, ${own('after_id')})`
  const direction = order === 'asc' ? 'ASC' : 'DESC'
  // The sort values are text, which keeps the microseconds of timestamps.
  const values = keys.map((key) => `(${key})::text`).join(', ')
  const rows = [
    select.replace(/^SELECT/, `SELECT ARRAY[${values}] AS sort_values,`),
    ...(start === 'cursor' ? [`AND (${keys.join(', ')}) ${order === 'asc' ? '>' : '<'} ${after}`] : []),
    `ORDER BY ${keys.map((each) => `${each} ${direction}`).join(', ')}`,
    // Without OFFSET, PostgreSQL can reuse one plan for the first page, which is the most frequent request.
    `LIMIT ${maxRows}${start === 'offset' ? ` OFFSET ${own('offset')}` : ''}`,
  ].join('\n')
  const { text, names } = renumbered(
    `SELECT t.total::int, x.* FROM (${total}) t LEFT JOIN LATERAL (
      SELECT * FROM (${rows}) page LIMIT ${own('limit')}
    ) x ON true`,
    all,
  )
  const searches = filters.some((name) => list.filters[name].searches)
  const prepared = searches ? { text } : statement<unknown>(text)
  return { statement: { ...prepared, label, reads: !searches }, names, keys }
}

/** Closes the gaps that the parameters of filters leave that are not selected. */
function renumbered(numbered: string, all: string[]): { text: string; names: string[] } {
  const names: string[] = []
  const text = numbered.replace(/\$(\d+)/g, (_whole, number: string) => {
    const name = all[Number(number) - 1]
    const index = names.indexOf(name)
    return `$${index === -1 ? names.push(name) : index + 1}`
  })
  return { text, names }
}

/** The choices of a list for the tests: each filter alone, all together, and each pair in the first order. */
export function choicesOf({ filters, sorts }: List): Choice[] {
  const names = Object.keys(filters)
  const pairs = names.flatMap((name, i) => names.slice(i + 1).map((other) => [name, other]))
  const [firstSort] = Object.keys(sorts)
  const combine = (sets: string[][], sortKeys: string[], orders: Order[]): Choice[] =>
    sets.flatMap((set) =>
      sortKeys.flatMap((sort) =>
        orders.flatMap((order) => starts.map((start): Choice => ({ filters: set, sort, order, start }))),
      ),
    )
  return [
    ...combine([[], ...names.map((name) => [name]), names], Object.keys(sorts), ['asc', 'desc']),
    ...combine(pairs, [firstSort], ['desc']),
  ]
}
