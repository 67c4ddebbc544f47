// Reads the pages of a list and checks page length, duplicates, totals and links.
import type { CheckName } from './checks.ts'
import { idIn, type Json, type Operation } from '@platform-api/openapi/document.ts'
import type { PageOptions, PagesRead } from './pages-read.ts'
import { readPlainList } from './plain-lists.ts'
import { isPaged, itemSchema } from './resources.ts'
import type { Run } from './run-context.ts'
import type { Answer } from './sender.ts'

/** null if the list cannot be read or changes in between. */
export async function readPages(
  run: Run,
  part: string,
  operation: Operation,
  options: PageOptions,
): Promise<PagesRead | null> {
  if (!isPaged(operation)) return await readPlainList(run, part, operation, options)
  const { path, query = {}, limit = 100, maxPages, until, key } = options
  const item = itemSchema(run.document, operation)
  const items: Json[] = []
  const answers: Answer[] = []
  let total = 0
  for (let page = 1; page <= maxPages; page++) {
    const answer = await run.call(
      part,
      operation,
      { path, query: { ...query, page: String(page), limit: String(limit) } },
      key,
    )
    const pagination = answer.body?.pagination
    if (answer.status !== 200 || !Array.isArray(answer.body?.data) || typeof pagination?.total !== 'number')
      return null
    if (page > 1 && pagination.total !== total) return null
    total = pagination.total
    items.push(...answer.body.data)
    answers.push(answer)
    if (
      page >= pagination.total_pages ||
      answer.body.data.length === 0 ||
      (until !== undefined && answer.body.data.some((each: Json) => idIn(run.document, item, each) === until))
    )
      break
  }
  const last = answers.at(-1)!
  const whole = answers.length >= Math.ceil(total / limit)
  for (const [i, answer] of answers.entries())
    checkPage(run, part, operation, answer, { page: i + 1, limit, total })
  const ids = items.map((each) => idIn(run.document, item, each))
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  if (twice !== undefined && !(await changedMeanwhile(run, operation, { path, query, key }, total)))
    run.findings.add(
      operation.id,
      part,
      { check: 'page-duplicate', expected: 'each item once over all pages', actual: `${twice} twice` },
      last,
    )
  if (
    whole &&
    twice === undefined &&
    ids.length !== total &&
    !(await changedMeanwhile(run, operation, { path, query, key }, total))
  )
    run.findings.add(
      operation.id,
      part,
      {
        check: 'page-total',
        expected: `as many items as the total: ${total}`,
        actual: String(ids.length),
      },
      last,
    )
  return { items, ids, total, whole, last }
}

/** Whether the list's total has changed in between. */
async function changedMeanwhile(
  run: Run,
  operation: Operation,
  { path, query, key }: Pick<PageOptions, 'path' | 'query' | 'key'>,
  total: number,
): Promise<boolean> {
  const { answer } = await run.exchange(operation, { path, query: { ...query, limit: '1' } }, key)
  return answer.body?.pagination?.total !== total
}

function checkPage(
  run: Run,
  part: string,
  operation: Operation,
  answer: Answer,
  { page, limit, total }: { page: number; limit: number; total: number },
): void {
  const { pagination, data } = answer.body
  const pages = Math.ceil(total / limit)
  const find = (check: CheckName, expected: string, actual: string): void =>
    run.findings.add(operation.id, part, { check, expected, actual }, answer)
  if (pagination.page !== page || pagination.limit !== limit)
    find('pagination', `page ${page} and limit ${limit}, as requested`, JSON.stringify(pagination))
  if (pagination.total_pages !== pages)
    find(
      'pagination',
      `total_pages ${pages} for a total of ${total} and a limit of ${limit}`,
      String(pagination.total_pages),
    )
  const length = Math.max(0, Math.min(limit, total - (page - 1) * limit))
  if (data.length !== length)
    find('page-length', `${length} items on page ${page} of ${pages}`, String(data.length))
  const links = linksOf(answer.headers.get('link'))
  if (links.size === 0) return
  for (const [relation, selected] of [
    ['next', page < pages ? page + 1 : null],
    ['prev', page > 1 ? page - 1 : null],
  ] as const) {
    const target = links.get(relation)
    const number =
      target === undefined ? null : Number(new URL(target, answer.url).searchParams.get('page') ?? 1)
    if (number !== selected && page <= pages)
      find(
        'link',
        selected === null
          ? `no link to a ${relation} page on page ${page} of ${pages}`
          : `a link to the ${relation} page, ${selected}`,
        String(answer.headers.get('link')),
      )
  }
}

/** The URLs by relation (RFC 8288). */
function linksOf(header: string | null): Map<string, string> {
  return new Map(
    [...(header ?? '').matchAll(/<([^>]*)>\s*;\s*rel="?([a-z]+)"?/g)].map(([, address, relation]) => [
      relation,
      address,
    ]),
  )
}
