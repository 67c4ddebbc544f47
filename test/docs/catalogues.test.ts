// The catalogue pages of errors and events: complete, and readable without JavaScript.
// reads: handlers
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { errorCodes } from '../../generated/error-codes.ts'
import { eventTypes } from '../../generated/events.ts'
import { operations } from '../../generated/operations.ts'
import type { ErrorCode } from '../../infra/errors.ts'
import { codesByStatus } from '../support/contract/contract-statuses.ts'
import { areas } from '../../services/docs/areas.ts'
import { startServer } from '../support/server/server.ts'
import { errors, events } from '../support/operations/example-fixtures.ts'
import { quotaNames } from '../../services/users/quotas.ts'

const root = resolve(import.meta.dirname, '../..')

/** The statuses with which the code throws each error code. */
function thrownErrors(): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>()
  for (const room of ['app', 'services', 'infra', 'handlers']) {
    for (const name of readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    )) {
      for (const [, status, code] of readFileSync(join(root, room, name), 'utf8').matchAll(
        /new ApiError\(\s*(\d{3}),\s*'([A-Z_]+)'/g,
      ))
        found.set(code, (found.get(code) ?? new Set()).add(Number(status)))
      for (const [, code] of readFileSync(join(root, room, name), 'utf8').matchAll(
        /limitReached\(\s*'([A-Z_]+)'/g,
      ))
        found.set(code, (found.get(code) ?? new Set()).add(errorCodes[code as ErrorCode].status))
    }
  }
  return found
}

t.test(
  'the error catalogue lists exactly the errors that the code throws, with their statuses',
  async (t) => {
    const thrown = thrownErrors()
    for (const { code, status, reserved } of errors) {
      if (reserved) t.notOk(thrown.has(code), `${code} is reserved and not thrown`)
      else t.same([...(thrown.get(code) ?? [])].sort(), status, code)
    }
    t.same(
      [...thrown.keys()].filter((code) => !errors.some((error) => error.code === code)),
      [],
      'no error is missing',
    )
  },
)

/** The constraints that the code throws, by error code. */
function thrownConstraints(): Map<string, Set<string>> {
  const text = ['app', 'services', 'handlers']
    .flatMap((room) =>
      readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(root, room, name), 'utf8')),
    )
    .join('\n')
  const found = (pattern: RegExp): Set<string> =>
    new Set([...text.matchAll(pattern)].map(([, constraint]) => constraint))
  return new Map([
    // A resource with x-crud throws `<column>_taken` for a column that is unique in its parent.
    ['CONFLICT', new Set([...found(/\bconflict\(\s*'(\w+)'/g), 'in_progress', 'name_taken'])],
    // Each quota is a constraint, too.
    [
      'FORBIDDEN',
      new Set([
        ...found(/\bforbidden\([^]{0,400}?,\s*'(\w+)',?\s*(?:\w+,?\s*)?\)/g),
        ...found(/\blimitReached\(\s*'FORBIDDEN',\s*'(\w+)'/g),
        ...quotaNames,
      ]),
    ],
    // A link is gone with its status as the constraint.
    ['GONE', new Set([...found(/\bgone\(\s*'(\w+)'/g), 'expired', 'revoked', 'used_up'])],
  ])
}

t.test('the error catalogue explains exactly the constraints that the code throws', async (t) => {
  const server = await startServer(t)
  const page = await (await fetch(`${server.url}/docs/errors`)).text()
  for (const [code, thrown] of thrownConstraints()) {
    const { constraints } = errors.find((error) => error.code === code)
    t.same(Object.keys(constraints).sort(), [...thrown].sort(), code)
    for (const constraint of thrown) t.match(page, `<dt><code>${constraint}</code></dt>`)
  }
})

t.test('every declared error status has a code, and codesByStatus matches the catalogue', async (t) => {
  for (const { id, replies } of Object.values(operations)) {
    for (const status of Object.keys(replies)
      .map(Number)
      .filter((status) => status >= 400))
      t.ok(
        errors.some((error) => error.status.includes(status)),
        `${id} ${status}`,
      )
  }
  for (const [status, known] of Object.entries(codesByStatus))
    t.same(
      errors.filter((error) => error.status.includes(Number(status))).map(({ code }) => code),
      known,
      status,
    )
  t.same(
    contract.components.schemas.ErrorResponse.properties.error.properties.code.anyOf[0].enum,
    errors.map(({ code }) => code),
  )
})

t.test('the catalogue pages list each error and event without JavaScript', async (t) => {
  const { url } = await startServer(t)
  for (const [path, names] of [
    ['/docs/errors', errors.map(({ code }) => code)],
    ['/docs/events', Object.keys(eventTypes)],
  ] as const) {
    const answer = await fetch(url + path)
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    t.match(
      answer.headers.get('content-security-policy'),
      /^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-/,
    )
    const text = await answer.text()
    t.same(
      [...text.matchAll(/<article id="([^"]+)">/g)].map(([, name]) => name),
      names,
    )
    t.notMatch(text, /<script(?! src="\/docs\/docs\.js" defer)|(src|href)="https?:/)
    const etag = answer.headers.get('etag')!
    t.equal((await fetch(url + path, { headers: { 'if-none-match': etag } })).status, 304)
  }
  const html = await (await fetch(`${url}/docs/events`)).text()
  for (const { example } of events)
    t.ok(html.includes(`&quot;type&quot;: &quot;${example.type}&quot;`), example.type)
})

t.test('the documents of the reference add examples and samples to the published one', async (t) => {
  const { url } = await startServer(t)
  let compared = 0
  let shared = 0
  for (const { documentPath } of areas()) {
    const part = (await (await fetch(url + documentPath)).json()) as any
    for (const [path, item] of Object.entries<any>(part.paths)) {
      for (const [method, documented] of Object.entries<any>(item)) {
        const operation = (contract.paths as any)[path][method]
        if (operation.operationId === undefined) {
          t.same(documented, operation, `${path} has its ${method}`)
          shared++
          continue
        }
        t.same(
          documented['x-codeSamples'].map(({ label }: { label: string }) => label),
          ['curl', 'TypeScript', 'Python'],
          operation.operationId,
        )
        const omitted = {
          'x-codeSamples': null,
          responses: null,
          requestBody: null,
          parameters: null,
          servers: null,
        }
        const rest = { ...documented, ...omitted }
        const published = { ...operation, ...omitted }
        t.same(rest, published, `${operation.operationId} is otherwise equal to the published operation`)
        compared++
      }
    }
  }
  // PATCH does the same as PUT, and is not shown.
  const all = Object.values<any>(contract.paths).flatMap((item) => Object.values<any>(item))
  const shown = all.filter((entry) => entry.operationId !== undefined && entry['x-same-as'] === undefined)
  t.equal(compared, shown.length)
  t.ok(shared > 100, 'the parameters of paths are there')
  t.notMatch(await (await fetch(`${url}/openapi.json`)).text(), 'x-codeSamples')
})

t.test(
  'the published document names this server first; the reference page sends requests to its own',
  async (t) => {
    const { url } = await startServer(t)
    const read = async (path: string): Promise<string> => await (await fetch(`${url}${path}`)).text()
    const firstServers = ({ servers, paths }: any): string[] => [
      servers[0].url,
      paths['/healthz'].get.servers[0].url,
    ]
    const [json, yaml] = [JSON.parse(await read('/openapi.json')), parse(await read('/openapi.yaml'))]
    t.same(firstServers(json), [`${url}/v1`, url])
    t.same(firstServers(yaml), [`${url}/v1`, url])
    t.strictSame(yaml, json, 'one document in two formats')
    t.same(firstServers(JSON.parse(await read('/docs/reference/settings/openapi.json'))), ['/v1', '/'])
    t.same(firstServers(contract), ['http://localhost:3000/v1', 'http://localhost:3000'])
  },
)
