// Deprecation: the headers of deprecated operations, and the notice period that the linter enforces.
import t from 'tap'
import { miniProject } from '../support/generator/mini-project.ts'

const pagination = '{ page: 1, limit: 20, total: 60, total_pages: 3, next_cursor: null }'
const page = `{ status: 200, body: { data: [], pagination: ${pagination} } }`
const edgeIds = ['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch']
const handlers = {
  'handlers/things.ts': [
    'export const things = {',
    `  async listThings () { return ${page} },`,
    ['createThing', 'getThing', 'updateThing', 'useThing', 'watchThings']
      .map((id) => `  async ${id} () { throw new Error('broken') }`)
      .join(',\n'),
    '}',
    '',
  ].join('\n'),
  'handlers/edge.ts': `const answer = async () => ({ status: 200, body: 'given' })
export const edge = { ${edgeIds.map((id) => `${id}: answer`).join(', ')} }\n`,
}

/** All tests change the spec of one project, so the generator is loaded only once. */
const project = await miniProject(t.testdir(), handlers)
const specs = ['spec/things.yaml', 'spec/edge.yaml']
const originals = new Map(
  await Promise.all(specs.map(async (file) => [file, await project.read(file)] as const)),
)

/** Writes the mini spec with these lines added to the operations of these ids. */
async function declare(
  deprecated: Record<string, string>,
  { open: withoutKey = [] as string[] } = {},
): Promise<void> {
  for (const [file, original] of originals) {
    let text = original
    for (const [id, lines] of Object.entries(deprecated))
      text = text.replace(
        `      operationId: ${id}\n`,
        `      operationId: ${id}\n${lines
          .split('\n')
          .map((line) => `      ${line}\n`)
          .join('')}`,
      )
    for (const id of withoutKey)
      text = text.replace(
        new RegExp(`(operationId: ${id}\\n[^]*?security: )\\[\\{ apiKey: \\[[^\\]]*\\] \\}\\]`),
        '$1[]',
      )
    await project.write(file, text)
  }
}

const deprecatedLines = 'deprecated: true\nx-deprecated-at: 2026-12-01\nx-sunset: 2027-06-30'
const deprecatedAt = `@${Date.UTC(2026, 11, 1) / 1000}`
const sunset = 'Wed, 30 Jun 2027 00:00:00 GMT'

t.test('every answer of a deprecated operation has its dates and its successor in the headers', async (t) => {
  await declare(
    {
      getNumber: `${deprecatedLines}\nx-successor: getBatch`,
      updateThing: `${deprecatedLines}\nx-successor: getThing`,
      listThings: deprecatedLines,
    },
    { open: ['listThings'] },
  )
  await project.generate()
  const app = await project.build()
  t.teardown(() => app.close())
  const call = async (method: 'GET' | 'PUT' | 'HEAD' | 'POST', url: string) =>
    await app.inject({ method, url: `/v1${url}` })

  const successes = [await call('GET', '/numbers/7'), await call('HEAD', '/numbers/7')]
  const errors = [await call('GET', '/numbers/101'), await call('PUT', '/things/t1')]
  t.same(
    [...successes, ...errors].map(({ statusCode }) => statusCode),
    [200, 200, 404, 500],
  )
  for (const { headers, statusCode } of [...successes, ...errors]) {
    t.equal(headers.deprecation, deprecatedAt, `${statusCode} has the deprecation date`)
    t.equal(headers.sunset, sunset, `${statusCode} has the sunset date`)
    t.match(headers.link, /<[^>]*\/docs>; rel="deprecation".*<[^>]*\/docs>; rel="sunset"/)
  }
  t.match(successes[0].headers.link, /<[^>]*\/v1\/t:batch>; rel="successor-version"/)
  t.match(
    errors[1].headers.link,
    /<[^>]*\/v1\/things\/t1>; rel="successor-version"/,
    'the successor link has the same path parameters',
  )

  const list = await call('GET', '/things')
  t.equal(list.statusCode, 200, list.body)
  t.match(list.headers.link, /page=2[^>]*>; rel="next"/)
  t.match(list.headers.link, /rel="deprecation"/, 'besides the pagination links')
  t.notMatch(list.headers.link, /successor-version/, 'there is no successor')

  for (const { headers } of [
    await call('GET', '/merged?color=red'),
    await call('GET', '/nothing'),
    await call('GET', '/things/t1'),
  ]) {
    t.notOk('deprecation' in headers || 'sunset' in headers, 'other operations have no deprecation headers')
  }
})

t.test('the published contract declares the headers and describes the deprecation', async (t) => {
  // The test above has generated it.
  const { paths } = JSON.parse(await project.read('generated/openapi.json'))
  const operation = paths['/numbers/{number}'].get
  t.match(
    operation.description,
    /Deprecated since 2026-12-01, available until 2027-06-30\. Use `getBatch` instead\./,
  )
  for (const [status, { headers }] of Object.entries<any>(operation.responses))
    t.same(Object.keys(headers).slice(0, 2), ['Deprecation', 'Sunset'], status)
  t.equal(paths['/merged'].get.responses['200'].headers, undefined)
})

const mistakes: Record<string, [lines: string, says: RegExp]> = {
  'a sunset of an operation that is not deprecated': [
    'x-sunset: 2027-06-30',
    /`x-sunset` requires `deprecated: true`/,
  ],
  'a missing sunset': [
    'deprecated: true\nx-deprecated-at: 2026-12-01',
    /a deprecated operation must have `x-sunset`/,
  ],
  'a notice period that is too short': [
    'deprecated: true\nx-deprecated-at: 2026-12-01\nx-sunset: 2027-05-31',
    /the sunset must be at least 6 months after `x-deprecated-at`: 2027-06-01 or later/,
  ],
  'an invalid date': [
    'deprecated: true\nx-deprecated-at: 2026-12-01\nx-sunset: soon',
    /`x-sunset` must be a date such as 2027-06-30/,
  ],
  'an unknown successor': [`${deprecatedLines}\nx-successor: getNothing`, /unknown operation `getNothing`/],
  'a successor with more path parameters': [
    `${deprecatedLines}\nx-successor: getThing`,
    /the path of `getThing` has the parameter `id`, which this path does not have/,
  ],
}

for (const [name, [lines, says]] of Object.entries(mistakes)) {
  t.test(`${name} is reported with its line in the spec`, async (t) => {
    await declare({ getNumber: lines })
    const failed = await project.generate().then(
      () => '',
      (error: Error) => error.message,
    )
    t.match(failed, says)
    t.match(failed, /^spec\/edge\.yaml:\d+:\d+ /)
  })
}
