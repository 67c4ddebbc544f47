// Lists of other APIs: an array, or an object with one array of objects. Pages are read by the parameters
// that the contract declares: `limit` with `page` or `offset`, in any of their usual names.
import { idIn, listOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { pagingOf } from '@platform-api/openapi/paging.ts'
import type { PageOptions, PagesRead } from './pages-read.ts'
import type { Run } from './run-context.ts'
import type { Answer } from './sender.ts'

/** null if the list cannot be read. `whole` if the last page was shorter than the limit. */
export async function readPlainList(
  run: Run,
  part: string,
  operation: Operation,
  { path, query = {}, limit = 100, maxPages, until, key }: PageOptions,
): Promise<PagesRead | null> {
  const list = listOf(run.document, operation)
  if (list === null) return null
  const paging = pagingOf(operation)
  const size = Math.max(1, Math.min(limit, paging.limit?.schema.maximum ?? limit))
  const items: Json[] = []
  let last: Answer | null = null
  let whole = paging.limit === null && paging.page === null && paging.offset === null
  for (let page = 0; page < maxPages; page++) {
    const first = paging.page?.schema.minimum ?? paging.page?.schema.default ?? 1
    const answer: Answer = await run.call(
      part,
      operation,
      {
        path,
        query: {
          ...query,
          ...(paging.limit !== null && { [paging.limit.name]: String(size) }),
          ...(page > 0 && paging.page !== null && { [paging.page.name]: String(first + page) }),
          ...(page > 0 && paging.page === null && { [paging.offset!.name]: String(items.length) }),
        },
      },
      key,
    )
    const own: Json = list.property === null ? answer.body : answer.body?.[list.property]
    if (answer.status !== 200 || !Array.isArray(own)) return null
    last = answer
    items.push(...own)
    if (paging.limit !== null && own.length > size)
      run.findings.add(
        operation.id,
        part,
        {
          check: 'page-length',
          expected: `at most ${size} items for ${paging.limit.name} ${size}`,
          actual: String(own.length),
        },
        answer,
      )
    whole ||= own.length === 0 || (paging.limit !== null && own.length < size)
    const found = until !== undefined && own.some((each) => idIn(run.document, list.item, each) === until)
    if (whole || found || (paging.page === null && paging.offset === null)) break
  }
  if (last === null) return null
  const ids = items.map((each) => idIn(run.document, list.item, each))
  const twice = ids.find((id, i) => id !== null && ids.indexOf(id) !== i)
  if (twice !== undefined)
    run.findings.add(
      operation.id,
      part,
      { check: 'page-duplicate', expected: 'each item once over all pages', actual: `${twice} twice` },
      last,
    )
  checkTotal(run, part, operation, { items, whole, last })
  return { items, ids, total: items.length, whole, last }
}

/** Whether a property beside a list is the number of items on all pages, by its name. */
export const isTotal = (name: string): boolean => /^total(_?(count|items|results))?$/i.test(name)

/** A `total` beside the list is the number of items on all pages. */
function checkTotal(
  run: Run,
  part: string,
  operation: Operation,
  { items, whole, last }: Pick<PagesRead, 'items' | 'whole' | 'last'>,
): void {
  for (const [name, total] of Object.entries<Json>(whole && !Array.isArray(last.body) ? last.body : {}))
    if (isTotal(name) && total !== items.length)
      run.findings.add(
        operation.id,
        part,
        { check: 'total', expected: `${name} ${items.length}, the number of items`, actual: String(total) },
        last,
      )
}

/** Smaller pages give the same items in the same order; without a way to the next page, the first of them. */
export async function checkPlainPages(
  run: Run,
  part: string,
  operation: Operation,
  path: Record<string, string>,
  all: PagesRead,
): Promise<void> {
  const paging = pagingOf(operation)
  if (paging.limit === null || all.total < 2 || all.ids.includes(null)) return
  const limit = Math.max(paging.limit.schema.minimum ?? 1, Math.ceil(all.total / 3))
  const parts = await readPlainList(run, part, operation, { path, limit, maxPages: 5 })
  if (parts === null) return
  const expected = parts.whole ? all.ids : all.ids.slice(0, parts.total)
  if (parts.ids.join() !== expected.join())
    run.findings.add(
      operation.id,
      part,
      {
        check: 'pages',
        expected: `with ${paging.limit.name} ${limit} the same items in the same order as with a larger one`,
        actual: `${parts.ids.join(' ').slice(0, 200)} instead of ${expected.join(' ').slice(0, 200)}`,
      },
      parts.last,
    )
}
