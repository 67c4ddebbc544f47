// The pages of a list: one statement that reads a page and the total, composed from a list in prisma/sql.
import type { Db } from './database.ts'
import { offsetOf, pageOfRows, type Page, type PageQuery } from './pagination.ts'
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
type Exactly<Given, Known> = Given & { [Name in Exclude<keyof Given, keyof Known>]: UnknownParameter }

/** No value has this type; the compiler's message names it. */
interface UnknownParameter {
  neverGiven: never
}

export type ListQuery<Parameters, Filters, Sort, Row> = {
  <Given extends PageParameters<Parameters, Filters, Sort>>(
    db: Db,
    parameters: Exactly<Given, PageParameters<Parameters, Filters, Sort>>,
  ): Promise<Page<Row>>
  label: string
  list: List
}

/**
 * The largest `limit` of any list. The constant in the inner LIMIT makes PostgreSQL plan the prepared
 * statement for few rows.
 */
const maxLimit = 100

export function page<Parameters, Filters, Sort extends string, Row extends { id: string }>(
  label: string,
  list: List,
): ListQuery<Parameters, Filters, Sort, Row> {
  const composed = new Map<string, ComposedList>()
  const read = async (db: Db, parameters: PageParameters<Parameters, Filters, Sort>): Promise<Page<Row>> => {
    const choice = choiceOf(list, parameters)
    const key = `${choice.filters.join(' ')}|${choice.sort}|${choice.order}|${choice.isFirst}`
    let found = composed.get(key)
    if (found === undefined) composed.set(key, (found = compose(label, list, choice)))
    const values = valuesOf(found.names, { ...parameters, offset: offsetOf(parameters) })
    const rows = await db.sql(found.statement as Statement<Row & { total: number }>, values)
    return pageOfRows(rows, parameters)
  }
  return Object.assign(read, { label, list })
}

/** What decides the text of the statement. */
export interface Choice {
  filters: string[]
  sort: string
  order: Order
  isFirst: boolean
}

function choiceOf(list: List, parameters: PageQuery & { sort: string; order: Order }): Choice {
  const given = parameters as unknown as Record<string, unknown>
  return {
    filters: Object.keys(list.filters).filter((name) => given[name] !== undefined),
    sort: parameters.sort,
    order: parameters.order,
    isFirst: parameters.page === 1,
  }
}

interface ComposedList {
  statement: Statement<unknown>
  names: string[]
}

/** The statement for a choice, and the names of its parameters in order. */
export function compose(label: string, list: List, { filters, sort, order, isFirst }: Choice): ComposedList {
  const direction = order === 'asc' ? 'ASC' : 'DESC'
  const sortKey = list.sorts[sort]
  const keys = sortKey === list.id ? [list.id] : [sortKey, list.id]
  const conditions = Object.entries(list.filters).flatMap(([name, { sql, otherwise }]) =>
    filters.includes(name) ? [sql] : (otherwise ?? []),
  )
  const select = [list.select, ...conditions.map((condition) => `AND (${condition})`)].join('\n')
  const total = list.totals[filters.join(' ')] ?? `SELECT count(*) AS total FROM (${select}) counted`
  // Without OFFSET, PostgreSQL can reuse one plan for the first page, which is the most frequent request.
  const numbered = `SELECT t.total::int, x.* FROM (${total}) t LEFT JOIN LATERAL (
    SELECT * FROM (
      ${select} ORDER BY ${keys.map((each) => `${each} ${direction}`).join(', ')}
      LIMIT ${maxLimit}${isFirst ? '' : ` OFFSET $${list.names.length + 1}`}
    ) page LIMIT $${list.names.length + 2}
  ) x ON true`
  const all = [...list.names, 'offset', 'limit']
  const names: string[] = []
  // The parameters of filters that are not selected leave gaps.
  const text = numbered.replace(/\$(\d+)/g, (_whole, number: string) => {
    const name = all[Number(number) - 1]
    const index = names.indexOf(name)
    return `$${index === -1 ? names.push(name) : index + 1}`
  })
  const searches = filters.some((name) => list.filters[name].searches)
  const prepared = searches ? { text } : statement<unknown>(text)
  return { statement: { ...prepared, label }, names }
}

/** Every choice of a list, for the test that prepares them all. */
export function choicesOf({ filters, sorts }: List): Choice[] {
  const sets = Object.keys(filters).reduce<string[][]>(
    (found, name) => found.flatMap((set) => [set, [...set, name]]),
    [[]],
  )
  return sets.flatMap((set) =>
    Object.keys(sorts).flatMap((sort) =>
      (['asc', 'desc'] as const).flatMap((order) =>
        [true, false].map((isFirst): Choice => ({ filters: set, sort, order, isFirst })),
      ),
    ),
  )
}
