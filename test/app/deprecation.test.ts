// An operation that will end says so with every answer, and the lint holds it to the notice that clients are promised.
import t, { type Test } from 'tap'
import { miniProject, type MiniProject } from '../support/mini-project.ts'

const page =
  '{ status: 200, body: { data: [], pagination: { page: 1, limit: 20, total: 60, total_pages: 3 } } }'
const handlers = {
  'handlers/things.ts': `export const things = {\n  async listThings () { return ${page} },\n${['createThing', 'getThing', 'updateThing', 'useThing', 'watchThings'].map((id) => `  async ${id} () { throw new Error('broken') }`).join(',\n')}\n}\n`,
  'handlers/edge.ts': `const given = async () => ({ status: 200, body: 'given' })
export const edge = { ${['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch'].map((id) => `${id}: given`).join(', ')} }\n`,
}

/** The mini spec in which operations are deprecated, each by what is written under its name. */
async function projectWith(
  t: Test,
  deprecated: Record<string, string>,
  { open = [] as string[] } = {},
): Promise<MiniProject> {
  const project = await miniProject(t.testdir(), handlers)
  for (const file of ['spec/things.yaml', 'spec/edge.yaml']) {
    let text = await project.read(file)
    for (const [id, lines] of Object.entries(deprecated))
      text = text.replace(
        `      operationId: ${id}\n`,
        `      operationId: ${id}\n${lines
          .split('\n')
          .map((line) => `      ${line}\n`)
          .join('')}`,
      )
    for (const id of open)
      text = text.replace(
        new RegExp(`(operationId: ${id}\\n[^]*?security: )\\[\\{ apiKey: \\[[^\\]]*\\] \\}\\]`),
        '$1[]',
      )
    await project.write(file, text)
  }
  return project
}

const ending = 'deprecated: true\nx-deprecated-at: 2026-12-01\nx-sunset: 2027-06-30'
const since = `@${Date.UTC(2026, 11, 1) / 1000}`
const until = 'Wed, 30 Jun 2027 00:00:00 GMT'

t.test(
  'every answer of a deprecated operation says since when, until when, and what comes after it',
  async (t) => {
    const project = await projectWith(
      t,
      {
        getNumber: `${ending}\nx-successor: getBatch`,
        updateThing: `${ending}\nx-successor: getThing`,
        listThings: ending,
      },
      { open: ['listThings'] },
    )
    await project.generate()
    const app = await project.build()
    t.teardown(() => app.close())
    const ask = async (method: 'GET' | 'PUT' | 'HEAD' | 'POST', url: string) =>
      await app.inject({ method, url: `/v1${url}` })

    const successes = [await ask('GET', '/numbers/7'), await ask('HEAD', '/numbers/7')]
    const errors = [await ask('GET', '/numbers/101'), await ask('PUT', '/things/t1')]
    t.same(
      [...successes, ...errors].map(({ statusCode }) => statusCode),
      [200, 200, 400, 500],
    )
    for (const { headers, statusCode } of [...successes, ...errors]) {
      t.equal(headers.deprecation, since, `${statusCode} says since when`)
      t.equal(headers.sunset, until, `${statusCode} says until when`)
      t.match(headers.link, /<[^>]*\/docs>; rel="deprecation".*<[^>]*\/docs>; rel="sunset"/)
    }
    t.match(successes[0].headers.link, /<[^>]*\/v1\/t:batch>; rel="successor-version"/)
    t.match(errors[1].headers.link, /<[^>]*\/v1\/things\/t1>; rel="successor-version"/, 'of the same thing')

    const list = await ask('GET', '/things')
    t.equal(list.statusCode, 200, list.body)
    t.match(list.headers.link, /page=2[^>]*>; rel="next"/)
    t.match(list.headers.link, /rel="deprecation"/, 'beside the links of a page')
    t.notMatch(list.headers.link, /successor-version/, 'nothing comes after it')

    for (const { headers } of [
      await ask('GET', '/merged?color=red'),
      await ask('GET', '/nothing'),
      await ask('GET', '/things/t1'),
    ]) {
      t.notOk('deprecation' in headers || 'sunset' in headers, 'another operation says nothing of it')
    }
  },
)

t.test('the published contract declares the header fields and says it in words', async (t) => {
  const project = await projectWith(t, { getNumber: `${ending}\nx-successor: getBatch` })
  await project.generate()
  const { paths } = JSON.parse(await project.read('generated/openapi.json'))
  const operation = paths['/numbers/{number}'].get
  t.match(
    operation.description,
    /Deprecated since 2026-12-01; it answers until 2027-06-30\. Use `getBatch` instead\./,
  )
  for (const [status, { headers }] of Object.entries<any>(operation.responses))
    t.same(Object.keys(headers).slice(0, 2), ['Deprecation', 'Sunset'], status)
  t.equal(paths['/merged'].get.responses['200'].headers, undefined)
})

const mistakes: Record<string, [lines: string, says: RegExp]> = {
  'a sunset of what stays': [
    'x-sunset: 2027-06-30',
    /`x-sunset` is for an operation that is `deprecated: true`/,
  ],
  'no day of its end': [
    'deprecated: true\nx-deprecated-at: 2026-12-01',
    /since when and until when it answers: `x-sunset`/,
  ],
  'an end that comes too soon': [
    'deprecated: true\nx-deprecated-at: 2026-12-01\nx-sunset: 2027-05-31',
    /it ends 6 months after `x-deprecated-at` at the earliest, on 2027-06-01/,
  ],
  'a day that is none': [
    'deprecated: true\nx-deprecated-at: 2026-12-01\nx-sunset: soon',
    /`x-sunset` is a day such as 2027-06-30/,
  ],
  'a successor that is not there': [
    `${ending}\nx-successor: getNothing`,
    /there is no operation `getNothing`/,
  ],
  'a successor that needs more': [
    `${ending}\nx-successor: getThing`,
    /the path of `getThing` has `id`, which this one does not/,
  ],
}

for (const [name, [lines, says]] of Object.entries(mistakes)) {
  t.test(`${name} is reported where it stands`, async (t) => {
    const project = await projectWith(t, { getNumber: lines })
    const failed = await project.generate().then(
      () => '',
      (error: Error) => error.message,
    )
    t.match(failed, says)
    t.match(failed, /^spec\/edge\.yaml:\d+:\d+ /)
  })
}
