// The alternatives of `security`: a request meets one by sending all its credentials. The mock, the tests of
// the contract and the servers that `generate` writes agree.
import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openapi } from '../../packages/contract/profile.ts'
import { runContract } from '../../packages/contract/run-all.ts'
import { keyHeader } from '../../packages/contract/sender.ts'
import { generateProject } from '../../packages/generate/project.ts'
import { createMock } from '../../packages/mock/server.ts'
import { operationsOf } from '../../packages/openapi/document.ts'

const root = resolve(import.meta.dirname, '../..')
const key = 'user:secret'
const basic = Buffer.from(key).toString('base64')

const schemes = {
  token: { type: 'http', scheme: 'bearer' },
  login: { type: 'http', scheme: 'basic' },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'api_key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
  app: { type: 'apiKey', in: 'cookie', name: 'app' },
  oauth: {
    type: 'oauth2',
    flows: { clientCredentials: { tokenUrl: 'https://a.example', scopes: { read: '' } } },
  },
  certificate: { type: 'mutualTLS' },
  signature: { type: 'http', scheme: 'HMAC' },
  openid: { type: 'openIdConnect', openIdConnectUrl: 'https://a.example' },
}

const securities: Record<string, object[]> = {
  nothing: [],
  token: [{ token: [] }],
  login: [{ login: [] }],
  header: [{ header: [] }],
  query: [{ query: [] }],
  cookie: [{ cookie: [] }],
  oauth: [{ oauth: ['read'] }],
  openid: [{ openid: [] }],
  either: [{ token: [] }, { header: [] }, { query: [] }, { cookie: [] }],
  both: [{ header: [], query: [] }],
  mixed: [{ header: [], cookie: [] }, { login: [] }],
  cookies: [{ cookie: [], app: [] }],
  optional: [{ header: [] }, {}],
  certificate: [{ certificate: [] }],
  withCertificate: [{ certificate: [], header: [] }],
  signature: [{ signature: [] }],
}

const documentOf = (chosen: Record<string, object[]>): any => ({
  openapi: '3.1.0',
  info: { title: 'Keys', version: '1' },
  components: { securitySchemes: schemes },
  security: [{ token: [] }],
  paths: Object.fromEntries(
    Object.entries(chosen).map(([name, security]) => [
      `/${name}`,
      {
        get: {
          operationId: name,
          tags: ['keys'],
          security,
          responses: {
            200: {
              description: 'It is allowed.',
              content: { 'application/json': { schema: { type: 'object', example: {} } } },
            },
            401: { description: 'No key.' },
          },
        },
      },
    ]),
  ),
})

interface Sent {
  headers?: Record<string, string>
  url?: string
}
const bearer: Sent = { headers: { authorization: `Bearer ${key}` } }
const inHeader: Sent = { headers: { 'x-key': key } }
const inQuery: Sent = { url: `?api_key=${encodeURIComponent(key)}` }
const inCookie: Sent = { headers: { cookie: `a=b; session=${key}` } }
const asUser: Sent = { headers: { authorization: `Basic ${basic}` } }
const all = (...sent: Sent[]): Sent => ({
  url: sent.map(({ url = '' }) => url).join(''),
  headers: Object.assign({}, ...sent.map(({ headers }) => headers)),
})

/** Requests that each operation accepts, and that it refuses. */
const cases: Record<string, { accepts: Sent[]; refuses: Sent[] }> = {
  nothing: { accepts: [{}, bearer], refuses: [] },
  token: {
    accepts: [bearer, { headers: { authorization: `bearer  ${key}` } }],
    refuses: [
      {},
      asUser,
      inHeader,
      { headers: { authorization: key } },
      { headers: { authorization: 'Bearer ' } },
    ],
  },
  login: { accepts: [asUser], refuses: [{}, bearer] },
  header: { accepts: [inHeader], refuses: [{}, inQuery, { headers: { 'x-key': '' } }] },
  query: {
    accepts: [inQuery],
    refuses: [{}, inHeader, { url: '?api_key=' }, { url: '?api_key=a&api_key=b' }],
  },
  cookie: {
    accepts: [inCookie, { headers: { cookie: `session=${key}` } }],
    refuses: [{}, { headers: { cookie: `xsession=${key}` } }, { headers: { cookie: 'session=' } }],
  },
  oauth: { accepts: [bearer], refuses: [{}, asUser] },
  openid: { accepts: [bearer], refuses: [{}, asUser] },
  either: { accepts: [bearer, inHeader, inQuery, inCookie, all(bearer, inQuery)], refuses: [{}, asUser] },
  both: { accepts: [all(inHeader, inQuery)], refuses: [{}, inHeader, inQuery, bearer] },
  mixed: {
    accepts: [all(inHeader, inCookie), asUser],
    refuses: [{}, inHeader, inCookie, all(bearer, inHeader)],
  },
  cookies: {
    accepts: [{ headers: { cookie: `app=${key}; session=${key}` } }],
    refuses: [{}, inCookie, { headers: { cookie: `app=${key}` } }],
  },
  optional: { accepts: [{}, inHeader, asUser], refuses: [] },
  certificate: { accepts: [{}], refuses: [] },
  withCertificate: { accepts: [inHeader], refuses: [{}, bearer] },
  signature: { accepts: [{ headers: { authorization: key } }], refuses: [{}] },
}

for (const only of [undefined, key])
  t.test(`the mock with ${only === undefined ? 'any key' : 'one key'}`, async (t: Test) => {
    const mock = await createMock({ document: documentOf(securities), key: only })
    t.teardown(() => mock.close())
    const statusOf = async (name: string, { url = '', headers }: Sent): Promise<number> =>
      (await mock.inject({ url: `/${name}${url}`, headers })).statusCode
    for (const [name, { accepts, refuses }] of Object.entries(cases)) {
      for (const sent of accepts) t.equal(await statusOf(name, sent), 200, `${name} ${JSON.stringify(sent)}`)
      for (const sent of refuses) t.equal(await statusOf(name, sent), 401, `${name} ${JSON.stringify(sent)}`)
    }
    const wrong = { headers: { 'x-key': 'another', authorization: 'Bearer another' } }
    t.equal(await statusOf('either', wrong), only === undefined ? 200 : 401, 'another key')
  })

t.test('a refusal names the schemes of the operation', async (t: Test) => {
  const mock = await createMock({ document: documentOf(securities) })
  t.teardown(() => mock.close())
  const challenge = async (name: string): Promise<unknown> =>
    (await mock.inject({ url: `/${name}` })).headers['www-authenticate']
  t.equal(await challenge('token'), 'Bearer')
  t.equal(await challenge('login'), 'Basic realm="mock"')
  t.equal(await challenge('either'), 'Bearer')
})

t.test('requests have the alternative that most operations have', (t: Test) => {
  const operations = operationsOf(
    documentOf({ a: [{ header: [] }, { token: [] }], b: [{ token: [] }], c: [{}] }),
  )
  t.same(
    operations.map(({ credentials }) => credentials.map((each) => keyHeader(each, 'k'))),
    [[['Authorization', 'Bearer k']], [['Authorization', 'Bearer k']], []],
  )
  t.end()
})

/** The checks of the findings by operation, of a server with this security. */
async function findingsOf(t: Test, implemented: Record<string, object[]>): Promise<string[]> {
  const mock = await createMock({ document: documentOf(implemented), key })
  t.teardown(() => mock.close())
  const { findings, unfinished } = await runContract({
    profile: openapi,
    document: openapi.prepare(documentOf(securities)),
    base: await mock.listen({ host: '127.0.0.1', port: 0 }),
    key,
    secondKey: null,
    seed: 1,
    runs: 1,
    readOnly: false,
    selected: () => true,
    time: 60_000,
    onProgress: () => {},
  })
  t.same(unfinished, [])
  return findings.all.map(({ operation, check }) => `${operation} ${check}`)
}

t.test('the contract tests find nothing on a server with this security', async (t: Test) => {
  t.same(await findingsOf(t, securities), [])
})

t.test('the contract tests find a server that accepts one of two credentials', async (t: Test) => {
  const found = await findingsOf(t, { ...securities, both: [{ header: [] }, { query: [] }] })
  t.same(found, ['both partial-key', 'both partial-key'])
})

t.test('a generated server asks for the same', async (t: Test) => {
  const folder = t.testdir({ 'keys.json': JSON.stringify(documentOf(securities)) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  await generateProject(join(folder, 'keys.json'), join(folder, 'server'))
  const { authenticate } = await import(join(folder, 'server/authentication.ts'))
  const { operations } = await import(join(folder, 'server/generated/operations.ts'))
  const isAllowed = async (name: string, { url = '', headers = {} }: Sent): Promise<boolean> => {
    const query = Object.fromEntries(new URLSearchParams(url))
    return await authenticate({ query, headers }, operations[name]).then(
      () => true,
      ({ status }: { status: number }) => (t.equal(status, 401), false),
    )
  }
  for (const [name, { accepts, refuses }] of Object.entries(cases)) {
    for (const sent of accepts) t.ok(await isAllowed(name, sent), `${name} ${JSON.stringify(sent)}`)
    for (const sent of refuses.filter(({ url = '' }) => !url.includes('&')))
      t.notOk(await isAllowed(name, sent), `${name} ${JSON.stringify(sent)}`)
  }
})
