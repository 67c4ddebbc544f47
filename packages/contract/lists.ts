// Lists: every page size gives the same items, every order sorts, and every filter selects exactly its items.
import type { CheckName } from './checks.ts'
import { kindOf, listOf, schemaOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { readPages } from './pages.ts'
import type { PagesRead } from './pages-read.ts'
import { checkPlainPages } from './plain-lists.ts'
import { make, createOperations, createWith, pathParameters } from './requests.ts'
import { isPaged, itemSchema, listItemKind } from './resources.ts'
import type { Part } from './part.ts'
import type { Run } from './run-context.ts'
import { isPrivate } from './tenant-isolation.ts'

const part = 'lists'
/** The items a list needs for its pages and orders to be testable. */
const minItems = 3
/** A longer list is not tested. */
const maxItems = 400

export const lists: Part = {
  name: part,
  checks: (run) => [
    ...run.selected
      .filter((operation) => isPaged(operation) || listOf(run.document, operation) !== null)
      .map((operation) => ({ operation, run: async () => await checkList(run, operation) })),
    ...run.selected
      .filter((operation) => run.options.profile.lists.logs && isLog(operation))
      .map((operation) => ({ operation, run: async () => await checkLog(run, operation) })),
  ],
}

/** Whether runs with other accounts change the list. */
export function isShared(run: Run, operation: Operation): boolean {
  const kind = listItemKind(run.document, operation)
  return run.accounts.needsOperator(operation) || (kind !== null && !isPrivate(run, kind))
}

async function checkList(run: Run, operation: Operation): Promise<void> {
  const path = await pathParameters(run, operation)
  if (path === null) return
  const kind = listItemKind(run.document, operation)
  const read = (query: Record<string, string> = {}, limit = 100): Promise<PagesRead | null> =>
    readPages(run, part, operation, { path, query, limit, maxPages: 4 })
  let all = await read()
  for (
    let i = 0;
    all !== null && all.total < minItems && i < minItems && kind !== null && !run.options.readOnly;
    i++
  ) {
    if (
      Object.keys(path).length === 0
        ? (await make(run, kind)) === null
        : (await createWith(run, kind, { path, part: 'making' })) === null
    )
      break
    if (i === minItems - 1 || (all.total === 0 && i === 0)) all = await read()
    if (i === 0 && all?.total === 0) break
  }
  if (kind !== null && !run.options.readOnly) await createForSorting(run, operation, kind, path)
  all = await read()
  if (all === null || !all.whole || all.total > maxItems) return
  if (isPaged(operation)) await checkPageSizes(run, operation, path, all)
  else await checkPlainPages(run, part, operation, path, all)
  if (all.ids.includes(null)) return
  await checkOrders(run, operation, all, read)
  await checkFilters(run, operation, all, read)
}

/** For every order by a writable text: creates an item that sorts late, then one that sorts early. */
async function createForSorting(
  run: Run,
  operation: Operation,
  kind: string,
  path: Record<string, string>,
): Promise<void> {
  const names: string[] = operation.parameters.find(({ name }) => name === 'sort')?.schema.enum ?? []
  const properties = createOperations(run, kind)[0]?.body?.media[0].schema.properties ?? {}
  for (const name of names) {
    const { type, format } = schemaOf(run.document, properties[name])
    if (type !== 'string' || format !== undefined) continue
    for (const text of ['zulu', 'alpha'])
      await createWith(run, kind, {
        path: Object.keys(path).length === 0 ? undefined : path,
        body: { [name]: text },
        part: 'making',
      })
  }
}

async function checkPageSizes(
  run: Run,
  operation: Operation,
  path: Record<string, string>,
  all: PagesRead,
): Promise<void> {
  const limit = Math.max(1, Math.min(100, Math.ceil(all.total / 3)))
  const parts = await readPages(run, part, operation, { path, limit, maxPages: 4 })
  if (parts !== null && parts.whole && parts.total === all.total && ids(parts).join() !== ids(all).join()) {
    run.findings.add(
      operation.id,
      part,
      {
        check: 'pages',
        expected: `with limit ${limit} the same items in the same order as with limit 100`,
        actual: `${ids(parts).join(' ').slice(0, 200)} instead of ${ids(all).join(' ').slice(0, 200)}`,
      },
      parts.last,
    )
  }
  await checkCursor(run, operation, path, { all, limit })
  const past = await run.call(part, operation, { path, query: { page: String(all.total + 2), limit: '1' } })
  // Other requests add items meanwhile, to a list of requests for example.
  const isPast = (past.body?.pagination?.total ?? 0) < all.total + 2
  if (past.status === 200 && past.body?.data?.length !== 0 && isPast)
    run.findings.add(
      operation.id,
      part,
      {
        check: 'page-past-end',
        expected: 'an empty page after the last one',
        actual: `${past.body?.data?.length} items`,
      },
      past,
    )
}

/** Reads the list by its cursors, if it has any: the same items in the same order. */
async function checkCursor(
  run: Run,
  operation: Operation,
  path: Record<string, string>,
  { all, limit }: { all: PagesRead; limit: number },
): Promise<void> {
  const found: string[] = []
  let query: Record<string, string> = { limit: String(limit) }
  for (;;) {
    const answer = await run.call(part, operation, { path, query })
    const { data, pagination } = answer.body ?? {}
    if (answer.status !== 200 || pagination?.total !== all.total || pagination.next_cursor === undefined)
      return
    found.push(...data.map(({ id }: Json) => id))
    query = { limit: String(limit), cursor: pagination.next_cursor }
    if (pagination.next_cursor !== null && found.length <= all.total) continue
    if (found.join() === ids(all).join()) return
    run.findings.add(
      operation.id,
      part,
      {
        check: 'cursor',
        expected: 'the same items in the same order by cursor as by page',
        actual: `${found.join(' ').slice(0, 200)} instead of ${ids(all).join(' ').slice(0, 200)}`,
      },
      answer,
    )
    return
  }
}

function ids({ ids: all }: PagesRead): Array<string | null> {
  return [...all]
}

type Read = (query?: Record<string, string>) => Promise<PagesRead | null>

async function checkOrders(run: Run, operation: Operation, all: PagesRead, read: Read): Promise<void> {
  if (!operation.parameters.some(({ name }) => name === 'order')) return
  const sort = operation.parameters.find(({ name }) => name === 'sort')
  const names: string[] = sort?.schema.enum ?? []
  for (const name of names) {
    const both = await bothWays(name, read)
    if (both === null) continue
    const { up, down } = both
    if (up.total !== all.total || down.total !== all.total) continue
    const find = (expected: string, actual: string, { last }: PagesRead): void =>
      run.findings.add(operation.id, part, { check: 'order', expected, actual }, last)
    if (ids(up).join() !== ids(down).reverse().join())
      find(`by ${name} descending the reverse of ascending`, `${ids(down).join(' ').slice(0, 200)}`, down)
    for (const [i, item] of up.items.entries()) {
      const before = up.items[i - 1]?.[name]
      if (i > 0 && isAfter(before, item[name])) {
        find(`by ${name} ascending`, `${JSON.stringify(before)} before ${JSON.stringify(item[name])}`, up)
        break
      }
    }
    if (
      sort?.schema.default === name &&
      down.total > 1 &&
      defaultOrder(operation) === 'desc' &&
      ids(down).join() !== ids(all).join()
    )
      find(`the default order: by ${name}, descending`, ids(all).join(' ').slice(0, 200), all)
  }
}

/** The list in both directions, read again if they do not match: it may have changed in between. */
async function bothWays(name: string, read: Read): Promise<{ up: PagesRead; down: PagesRead } | null> {
  for (let attempt = 1; ; attempt++) {
    const up = await read({ sort: name, order: 'asc' })
    const down = await read({ sort: name, order: 'desc' })
    if (up === null || down === null) return null
    if (attempt === 3 || ids(up).join() === ids(down).reverse().join()) return { up, down }
  }
}

function defaultOrder({ parameters }: Operation): string | undefined {
  return parameters.find(({ name }) => name === 'order')?.schema.default
}

/** Whether `a` sorts after `b` in every collation. */
function isAfter(a: Json, b: Json): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a > b
  if (typeof a !== 'string' || typeof b !== 'string') return false
  const plain = /^[a-z0-9:.TZ-]*$/i
  return (
    plain.test(a) && plain.test(b) && a > b && a.toLowerCase() > b.toLowerCase() && a.localeCompare(b) > 0
  )
}

/** A query parameter named like a property, or like the singular of a list property, filters by its value. */
async function checkFilters(run: Run, operation: Operation, all: PagesRead, read: Read): Promise<void> {
  const properties: Json = itemSchema(run.document, operation).properties ?? {}
  for (const { name, schema, in: where } of operation.parameters) {
    if (where !== 'query') continue
    const valueOf =
      name in properties
        ? (item: Json) => [item[name]]
        : `${name}s` in properties
          ? (item: Json) => [item[`${name}s`] ?? []].flat()
          : null
    const allowed: Json[] | undefined = schema.enum ?? schemaOf(run.document, schema.items)?.enum
    const exact =
      allowed !== undefined ||
      schema.type === 'boolean' ||
      kindOf(schemaOf(run.document, schema)) !== null ||
      `${name}s` in properties
    if (valueOf !== null) {
      const values = [
        ...new Set(
          all.items
            .flatMap(valueOf)
            .filter((value) => ['string', 'boolean', 'number'].includes(typeof value) && value !== ''),
        ),
      ].slice(0, 2)
      // A selector such as `file.*` names several values.
      const others = (allowed ?? [])
        .filter((value) => !values.includes(value) && !String(value).endsWith('*'))
        .slice(0, 1)
      const other = await otherId(run, schema, values)
      for (const value of [...values, ...others, ...other])
        await checkFilter(run, operation, all, read, {
          name,
          value,
          // An object may have the value inside.
          has: (item) =>
            valueOf(item).some((own) => own === value || (typeof own === 'object' && own !== null)),
          exact,
        })
    } else if (name === run.options.profile.lists.search) {
      await checkSearch(run, operation, all, read, { name, properties })
    }
  }
}

/** The id of a resource that no item names, if the parameter is an id. Creates one if there is none. */
async function otherId(run: Run, schema: Json, values: Json[]): Promise<string[]> {
  const kind = kindOf(schema)
  if (kind === null || !run.options.profile.lists.unknownIds) return []
  const known = run.pool.ids(kind).find((id) => !values.map(String).includes(id))
  const found = known ?? (run.options.readOnly ? undefined : (await make(run, kind))?.id)
  return found === undefined ? [] : [found]
}

interface Filter {
  name: string
  value: Json
  has: (item: Json) => boolean
  exact: boolean
}

async function checkFilter(
  run: Run,
  operation: Operation,
  all: PagesRead,
  read: Read,
  { name, value, has, exact }: Filter,
): Promise<void> {
  const found = await read({ [name]: String(value) })
  if (found === null || !found.whole) return
  const find = (expected: string, actual: string): void =>
    run.findings.add(operation.id, part, { check: 'filter', expected, actual }, found.last)
  const wrong = exact ? found.items.find((item) => !has(item)) : undefined
  if (wrong !== undefined)
    find(`only items with the requested ${name}`, String(found.ids[found.items.indexOf(wrong)]))
  const lost = all.items.findIndex((item, i) => has(item) && !found.ids.includes(all.ids[i]))
  // A background job may have changed the value in between, for example a document's status.
  const still = lost < 0 ? null : await read()
  if (still?.items.some((item, i) => still.ids[i] === all.ids[lost] && has(item)) === true)
    find(`all items with the requested ${name}`, `${all.ids[lost]} is missing`)
}

/** A word of an item's name finds the item; an unknown word finds nothing. */
async function checkSearch(
  run: Run,
  operation: Operation,
  all: PagesRead,
  read: Read,
  { name: parameter, properties }: { name: string; properties: Json },
): Promise<void> {
  const name = ['name', 'title'].find((each) => each in properties)
  const at = name === undefined ? -1 : all.items.findIndex((each) => /^[a-z]{4,}$/i.test(each[name] ?? ''))
  const none = await read({ [parameter]: 'zqxjkvbpwmnothing' })
  if (none !== null && none.total !== 0)
    run.findings.add(
      operation.id,
      part,
      { check: 'search', expected: 'no result for an unknown word', actual: `${none.total} items` },
      none.last,
    )
  if (at < 0) return
  const found = await read({ [parameter]: all.items[at][name!].slice(0, 8).toUpperCase() })
  if (found !== null && !found.ids.includes(all.ids[at]) && found.whole)
    run.findings.add(
      operation.id,
      part,
      {
        check: 'search',
        expected: `${all.ids[at]} for a word of its ${name} in upper case`,
        actual: `${found.total} other items`,
      },
      found.last,
    )
}

/** Whether the list is a log, which `cursor` continues and which has no pages. */
function isLog(operation: Operation): boolean {
  return (
    operation.method === 'GET' &&
    operation.parameters.some(({ name }) => name === 'cursor') &&
    operation.parameters.some(({ name }) => name === 'limit') &&
    !operation.parameters.some(({ name }) => name === 'page')
  )
}

async function checkLog(run: Run, operation: Operation): Promise<void> {
  const seen: Json[] = []
  let cursor: string | undefined
  for (let i = 0; i < 4; i++) {
    const answer = await run.call(part, operation, {
      query: { limit: '5', ...(cursor !== undefined && { cursor }) },
    })
    const { data, pagination } = answer.body ?? {}
    const { next_cursor: next, has_more: more } = pagination ?? answer.body ?? {}
    if (answer.status !== 200 || !Array.isArray(data)) return
    const find = (check: CheckName, expected: string, actual: string): void =>
      run.findings.add(operation.id, part, { check, expected, actual }, answer)
    if (data.length > 5) find('page-length', 'at most 5 items for limit 5', String(data.length))
    if (more === true && data.length < 5)
      find('page-length', '5 items when has_more is true', String(data.length))
    const twice = data.find(({ id }: Json) => seen.some((other) => other.id === id))
    if (twice !== undefined) find('page-duplicate', 'each item once', twice.id)
    if (data.length > 0 && next === cursor)
      find('pagination', 'another next_cursor after items', String(next))
    seen.push(...data)
    if (more !== true) return
    cursor = next
  }
}
