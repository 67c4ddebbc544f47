// The Link header of a page.
import t from 'tap'
import { pageLinks } from '../../app/http/response.ts'

const pagination = { page: 2, total_pages: 3, next_cursor: null }

t.test('long links are left out, except for the first page', async (t) => {
  const relationsOf = (header: string): string[] => [...header.matchAll(/rel="(\w+)"/g)].map(([, rel]) => rel)
  const base = 'http://server/v1/files'
  t.same(relationsOf(pageLinks(base, { q: 'x' }, pagination)), ['first', 'prev', 'next', 'last'])
  const long = pageLinks(base, { q: '\u{1d49c}'.repeat(200) }, pagination)
  t.same(relationsOf(long), ['first'])
  t.ok(long.length < 4096)
})

t.test('a page of a cursor links to the first and the next page', async (t) => {
  const base = 'http://server/v1/files'
  const next = { ...pagination, next_cursor: 'c+/=' }
  t.equal(
    pageLinks(base, { cursor: 'b', limit: 2 }, next),
    `<${base}?limit=2>; rel="first", <${base}?limit=2&cursor=c%2B%2F%3D>; rel="next"`,
  )
  t.equal(pageLinks(base, { cursor: 'b' }, pagination), `<${base}>; rel="first"`)
})
