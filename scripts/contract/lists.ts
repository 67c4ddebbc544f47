// Lists: every page size gives the same items, every order is one, and every filter leaves exactly what it names.
import { kindOf, schemaOf, type Json, type Operation } from './document.ts'
import { pageThrough, type PagesRead } from './pages.ts'
import { make, makersOf, makeWith, pathOf } from './requests.ts'
import { isPaged, itemSchema, listedKind } from './resources.ts'
import type { Run } from './cli.ts'

const part = 'lists'
/** What a list needs for its pages and orders to mean something. */
const enough = 3
const most = 400

export async function readLists(run: Run, tick: (done: number, of: number) => void): Promise<void> {
  const lists = run.wanted.filter(isPaged)
  for (const [i, operation] of lists.entries()) {
    tick(i + 1, lists.length)
    if (run.over()) return
    await readList(run, operation)
  }
  for (const operation of run.wanted.filter(isLog)) await readLog(run, operation)
}

async function readList(run: Run, operation: Operation): Promise<void> {
  const path = await pathOf(run, operation)
  if (path === null) return
  const kind = listedKind(run.document, operation)
  const read = (query: Record<string, string> = {}, limit = 100): Promise<PagesRead | null> =>
    pageThrough(run, part, operation, { path, query, limit, most: 4 })
  let all = await read()
  for (
    let i = 0;
    all !== null && all.total < enough && i < enough && kind !== null && !run.options.readOnly;
    i++
  ) {
    if (
      Object.keys(path).length === 0
        ? (await make(run, kind)) === null
        : (await makeWith(run, kind, { path, part: 'making' })) === null
    )
      break
    if (i === enough - 1 || (all.total === 0 && i === 0)) all = await read()
    if (i === 0 && all?.total === 0) break
  }
  if (kind !== null && !run.options.readOnly) await makeOrdered(run, operation, kind, path)
  all = await read()
  if (all === null || !all.whole || all.total > most) return
  await sizes(run, operation, path, all)
  await orders(run, operation, all, read)
  await filters(run, operation, all, read)
}

/** For every order by a text that one can choose: something late in it, and then something early. */
async function makeOrdered(
  run: Run,
  operation: Operation,
  kind: string,
  path: Record<string, string>,
): Promise<void> {
  const names: string[] = operation.parameters.find(({ name }) => name === 'sort')?.schema.enum ?? []
  const properties = makersOf(run, kind)[0]?.body?.media[0].schema.properties ?? {}
  for (const name of names) {
    const { type, format } = schemaOf(run.document, properties[name])
    if (type !== 'string' || format !== undefined) continue
    for (const text of ['zulu', 'alpha'])
      await makeWith(run, kind, {
        path: Object.keys(path).length === 0 ? undefined : path,
        body: { [name]: text },
        part: 'making',
      })
  }
}

async function sizes(
  run: Run,
  operation: Operation,
  path: Record<string, string>,
  all: PagesRead,
): Promise<void> {
  const limit = Math.max(1, Math.min(100, Math.ceil(all.total / 3)))
  const parts = await pageThrough(run, part, operation, { path, limit, most: 4 })
  if (parts !== null && parts.whole && parts.total === all.total && ids(parts).join() !== ids(all).join()) {
    run.findings.add(
      operation.id,
      part,
      {
        check: 'pages',
        expected: `with limit ${limit} the same items in the same order as with limit 100`,
        came: `${ids(parts).join(' ').slice(0, 200)} instead of ${ids(all).join(' ').slice(0, 200)}`,
      },
      parts.last,
    )
  }
  const past = await run.call(part, operation, { path, query: { page: String(all.total + 2), limit: '1' } })
  if (past.status === 200 && past.body?.data?.length !== 0)
    run.findings.add(
      operation.id,
      part,
      {
        check: 'page-past',
        expected: 'an empty page past the end',
        came: `${past.body?.data?.length} items`,
      },
      past,
    )
}

function ids({ items }: PagesRead): string[] {
  return items.map(({ id }) => id)
}

type Read = (query?: Record<string, string>) => Promise<PagesRead | null>

async function orders(run: Run, operation: Operation, all: PagesRead, read: Read): Promise<void> {
  const sort = operation.parameters.find(({ name }) => name === 'sort')
  const names: string[] = sort?.schema.enum ?? []
  for (const name of names) {
    const both = await bothWays(name, read)
    if (both === null) continue
    const { up, down } = both
    if (up.total !== all.total || down.total !== all.total) continue
    const find = (expected: string, came: string, { last }: PagesRead): void =>
      run.findings.add(operation.id, part, { check: 'order', expected, came }, last)
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

/** Ascending and descending; once more where they do not fit, since something may have moved between them. */
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

/** Whether `a` comes after `b` in every order that a database may have for them. */
function isAfter(a: Json, b: Json): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a > b
  if (typeof a !== 'string' || typeof b !== 'string') return false
  const plain = /^[a-z0-9:.TZ-]*$/i
  return (
    plain.test(a) && plain.test(b) && a > b && a.toLowerCase() > b.toLowerCase() && a.localeCompare(b) > 0
  )
}

/** A parameter that is called as a property of the items, or as one of what they have many of, leaves those that have the value. */
async function filters(run: Run, operation: Operation, all: PagesRead, read: Read): Promise<void> {
  const properties: Json = itemSchema(run.document, operation).properties ?? {}
  for (const { name, schema, in: where } of operation.parameters) {
    if (where !== 'query') continue
    const valueOf =
      name in properties
        ? (item: Json) => [item[name]]
        : `${name}s` in properties
          ? (item: Json) => item[`${name}s`]
          : null
    const exact =
      schema.enum !== undefined ||
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
      const others = (schema.enum ?? []).filter((value: Json) => !values.includes(value)).slice(0, 1)
      for (const value of [...values, ...others])
        await filtered(run, operation, all, read, {
          name,
          value,
          has: (item) => valueOf(item).includes(value),
          exact,
        })
    } else if (name === 'q') {
      await search(run, operation, all, read, properties)
    }
  }
}

interface Filter {
  name: string
  value: Json
  has: (item: Json) => boolean
  exact: boolean
}

async function filtered(
  run: Run,
  operation: Operation,
  all: PagesRead,
  read: Read,
  { name, value, has, exact }: Filter,
): Promise<void> {
  const found = await read({ [name]: String(value) })
  if (found === null || !found.whole) return
  const find = (expected: string, came: string): void =>
    run.findings.add(operation.id, part, { check: 'filter', expected, came }, found.last)
  const wrong = exact ? found.items.find((item) => !has(item)) : undefined
  if (wrong !== undefined) find(`only items with the ${name} that was asked for`, `${wrong.id}`)
  const missing = all.items.find((item) => has(item) && !found.items.some(({ id }) => id === item.id))
  // What goes on by itself, such as a document that is being read, may have another value by now.
  const still = missing === undefined ? null : await read()
  if (still?.items.some((item) => item.id === missing!.id && has(item)) === true)
    find(`all items with the ${name} that was asked for`, `without ${missing!.id}`)
}

/** A word of one item finds it, and a word of none finds nothing. */
async function search(
  run: Run,
  operation: Operation,
  all: PagesRead,
  read: Read,
  properties: Json,
): Promise<void> {
  const name = ['name', 'title'].find((each) => each in properties)
  const item =
    name === undefined ? undefined : all.items.find((each) => /^[a-z]{4,}$/i.test(each[name] ?? ''))
  const none = await read({ q: 'zqxjkvbpwmnothing' })
  if (none !== null && none.total !== 0)
    run.findings.add(
      operation.id,
      part,
      { check: 'search', expected: 'nothing for a word that is nowhere', came: `${none.total} items` },
      none.last,
    )
  if (item === undefined) return
  const found = await read({ q: item[name!].slice(0, 8).toUpperCase() })
  if (found !== null && !found.items.some(({ id }) => id === item.id) && found.whole)
    run.findings.add(
      operation.id,
      part,
      {
        check: 'search',
        expected: `${item.id} for a word of its ${name}, whatever the case`,
        came: `${found.total} other items`,
      },
      found.last,
    )
}

/** What is read on from where one was, instead of by pages. */
function isLog(operation: Operation): boolean {
  return (
    operation.method === 'GET' &&
    operation.parameters.some(({ name }) => name === 'after') &&
    operation.parameters.some(({ name }) => name === 'limit')
  )
}

async function readLog(run: Run, operation: Operation): Promise<void> {
  const seen: Json[] = []
  let after = 0
  for (let i = 0; i < 4; i++) {
    const answer = await run.call(part, operation, { query: { after: String(after), limit: '5' } })
    const { data, next_after: next, has_more: more } = answer.body ?? {}
    if (answer.status !== 200 || !Array.isArray(data)) return
    const find = (check: string, expected: string, came: string): void =>
      run.findings.add(operation.id, part, { check, expected, came }, answer)
    if (data.length > 5) find('page-length', 'at most 5 items for limit 5', String(data.length))
    if (more === true && data.length < 5)
      find('page-length', '5 items where there are more', String(data.length))
    const numbers = data.map(({ sequence }: Json) => sequence)
    if (numbers.some((number: number, j: number) => number <= (numbers[j - 1] ?? after)))
      find('order', `ascending numbers after ${after}`, numbers.join(', '))
    const twice = data.find(({ id }: Json) => seen.some((other) => other.id === id))
    if (twice !== undefined) find('page-twice', 'each item once', twice.id)
    if (data.length > 0 && next !== numbers.at(-1))
      find('pagination', `next_after ${numbers.at(-1)}, the last number`, String(next))
    seen.push(...data)
    if (more !== true) return
    after = next
  }
}
