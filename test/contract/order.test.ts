// The order of checks. A request with two mistakes gets the answer of the earlier check: 401 for the key, 429
// for the rate limit, 403 for the scope, 400 for the request, 404, 403 for the permission, then 409 or 412.
// The request pipeline makes the checks up to 400: `npm test` asks one operation of each kind, and
// `npm run faults` all. The handlers make the later ones, so both ask all operations.
import t from 'tap'
import { createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import {
  requestFor,
  encodedBody,
  fixtures,
  operationInfos,
  withUnknownIds,
  unrelatedScope,
  secured,
  send,
  sharedDataOf,
  withBody,
  withFields,
} from '../support/operations/operation-fixtures.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import { startServer } from '../support/server/server.ts'
import { isOperatorScope } from '../../services/users/scopes.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const policies = Object.fromEntries(
  ['DEFAULT', 'WRITE', 'UPLOAD', 'AI', 'PASSWORD', 'REFRESH'].map((name) => [`RATE_LIMIT_${name}`, '1']),
)
const withUnknownParameter = (request: OperationRequest): OperationRequest => ({
  ...request,
  query: { ...request.query, surprise: '1' },
})
/** Half of the request body with its Content-Type. Only for operations with a body. */
const halfBodyOf = (request: OperationRequest) => {
  const { raw, type } = encodedBody(request)!
  return { raw: raw.slice(0, Math.ceil(raw.length / 2)), headers: { 'content-type': type } }
}
const largeBodyOf = (request: OperationRequest) => ({
  ...halfBodyOf(request),
  raw: new Uint8Array(
    Buffer.concat([Buffer.from(encodedBody(request)!.raw as string), Buffer.alloc(1024 * 1024, 'x')]),
  ),
})
const asked = isLongForm ? secured : oneOfEachKind(secured, pipelineKind)
const policyOf = ({ rateLimit, keyOptional }: OperationInfo) => [rateLimit, keyOptional]
const limitedOperations = isLongForm ? secured : oneOfEachKind(secured, policyOf)
const needsScope = ({ scopes }: { scopes: string[] | null }) => scopes!.length > 0
const inProjects = operationInfos.filter(
  (info) => info.projectAccess !== null && info.projectAccess.role !== 'none',
)
const requests = new Map<string, OperationRequest>()
for (const { id } of secured) requests.set(id, await requestFor(server, id))
const limited = await startServer(t, {
  ...sharedDataOf(server),
  env: { ...sharedDataOf(server).env, ...policies },
})

t.test(
  '401 comes before 429, so a caller without a key learns nothing about the rate limit of a key',
  async (t) => {
    for (const info of limitedOperations) {
      const { id } = info
      const request = { ...requests.get(id)!, server: limited }
      const { secret } = await createApiKey(limited, request.caller.id)
      // A request that fails counts as well.
      await send(request, { key: secret, headers: { accept: 'image/png' } })
      t.equal(
        (await send(request, { key: secret })).status,
        429,
        `${id}: the rate limit of the key is used up`,
      )
      t.equal((await send(request, { key: `${secret}x` })).status, 401, id)
      // Where the key is optional, a request without a key counts against the limit of its IP address.
      if (info.keyOptional !== true) t.equal((await send(request, { key: null })).status, 401, id)
    }
  },
)

t.test('429 comes before 403: a request without the scope counts against the rate limit', async (t) => {
  for (const { id } of limitedOperations.filter(needsScope)) {
    const request = { ...requests.get(id)!, server: limited }
    // All requests of a user count, so each operation has a user of its own.
    const { id: userId } = await limited.person()
    const { secret } = await createApiKey(limited, userId, { scopes: [unrelatedScope(id)] })
    t.equal((await send(request, { key: secret })).status, 403, id)
    t.equal((await send(request, { key: secret })).status, 429, id)
  }
})

t.test('401 and 403 for the scope come before 400, 404, 406, 413 and 415', async (t) => {
  const keys = new Map<string, string>()
  for (const { id } of asked)
    keys.set(
      id,
      (await createApiKey(server, requests.get(id)!.caller.id, { scopes: [unrelatedScope(id)] })).secret,
    )
  const before = await changes()
  for (const info of asked) {
    const { id } = info
    const request = requests.get(id)!
    // Without a key these operations serve public files, so the request is validated first.
    for (const [key, status] of [
      ...(info.keyOptional === true ? [] : [[null, 401] as const]),
      ['none', 401] as const,
      ...(needsScope(info) ? [[keys.get(id)!, 403] as const] : []),
    ] as const) {
      t.equal(
        (await send(withUnknownParameter(request), { key })).status,
        status,
        `${id} with an unknown parameter`,
      )
      t.equal(
        (await send(request, { key, headers: { accept: 'image/png' } })).status,
        status,
        `${id} with an Accept that does not match`,
      )
      if (request.params !== undefined)
        t.equal((await send(withUnknownIds(request), { key })).status, status, `${id} with unknown ids`)
      if (request.body === undefined) continue
      t.equal((await send(request, { key, ...halfBodyOf(request) })).status, status, `${id} with half a body`)
      t.equal(
        (await send(request, { key, raw: '{}', headers: { 'content-type': 'text/plain' } })).status,
        status,
        `${id} with another Content-Type`,
      )
      t.equal(
        (await send(request, { key, ...largeBodyOf(request) })).status,
        status,
        `${id} with too large a body`,
      )
    }
  }
  t.same(await changes(), before, 'nothing is written to the database')
})

t.test('400 comes before 404', async (t) => {
  for (const { id } of asked.filter((info) => info.path.includes('{'))) {
    const request = withUnknownIds(requests.get(id)!)
    t.equal((await send(withUnknownParameter(request))).status, 400, `${id} with an unknown parameter`)
    if (request.body !== undefined)
      t.equal(
        (await send({ ...request, body: { ...request.body, surprise: 1 } })).status,
        400,
        `${id} with an unknown field`,
      )
  }
})

t.test('400 comes before 403 for the permission, 409 and 412', async (t) => {
  for (const { id, ifMatch } of isLongForm ? inProjects : oneOfEachKind(inProjects, pipelineKind)) {
    t.equal(
      (await send(withUnknownParameter(await requestFor(server, id, { role: 'none' })))).status,
      400,
      `${id} by a non-member`,
    )
    if (ifMatch !== null)
      t.equal(
        (await send(withUnknownParameter(requests.get(id)!), { headers: { 'if-match': '"stale"' } })).status,
        400,
        `${id} with an old ETag`,
      )
  }
})

t.test('404 comes before 403 for the permission, 409 and 412', async (t) => {
  const viewer = await server.person()
  const { access_token: session } = await createSignIn(server, viewer.id)
  // A model is named by its operator, and its id has no form that a test could change.
  // `upsertCustomer` creates what does not exist.
  const other = ['getOpenAiModel', 'upsertCustomer']
  const withIds = secured.filter(({ id, path }) => path.includes('{') && !other.includes(id))
  for (const { id, ifMatch, scopes, needsSession } of withIds) {
    const unknownRequest = withUnknownIds(requests.get(id)!)
    if (!scopes!.some(isOperatorScope))
      t.equal(
        (await send(unknownRequest, { key: needsSession === true ? session : viewer.key })).status,
        404,
        `${id} with unknown ids, for any user`,
      )
    if (ifMatch !== null)
      t.equal(
        (await send(unknownRequest, { headers: { 'if-match': '"stale"' } })).status,
        404,
        `${id} with unknown ids and an old ETag`,
      )
  }
})

const allStates = ['active', 'archived', 'deleted']
t.test('403 for the permission comes before 409 and 412', async (t) => {
  for (const info of inProjects) {
    const request = await requestFor(server, info.id, { role: 'none' })
    if (info.ifMatch !== null)
      t.equal(
        (await send(request, { headers: { 'if-match': '"stale"' } })).status,
        403,
        `${info.id} with an old ETag`,
      )
    // An operation that allows every state answers 409 only while a request with its idempotency key is
    // running.
    const { states = allStates } = info.projectAccess!
    const allowsAll = allStates.every((state) => states.includes(state))
    if (info.replies[409] === undefined || (allowsAll && fixtures[info.id].byStatus?.[409] === undefined))
      continue
    const conflicting = await requestFor(server, info.id, { role: 'none', forStatus: 409 })
    t.equal((await send(conflicting)).status, 403, `${info.id} in the wrong state`)
  }
})

t.test('409 and 412 come before the change', async (t) => {
  for (const { id } of operationInfos.filter((info) => info.ifMatch !== null)) {
    const request = await requestFor(server, id)
    const before = await changes()
    t.equal((await send(request, { headers: { 'if-match': '"stale"' } })).status, 412, id)
    t.same(await changes(), before, `${id} changes nothing`)
  }
  const conflicting = await requestFor(server, 'updateUser', { forStatus: 409 })
  t.equal(
    (await send(conflicting, { headers: { 'if-match': '"stale"' } })).status,
    412,
    '412 for an old ETag comes before 409 for an email address that is taken',
  )
})

t.test(
  'the Content-Type, then the syntax, then the fields of a body are checked before the resource is loaded',
  async (t) => {
    const bodyKind = (info: (typeof withBody)[number]) => [pipelineKind(info), info.form]
    for (const { id, form } of isLongForm ? withBody : oneOfEachKind(withBody, bodyKind)) {
      const request = await requestFor(server, id, { form })
      const unknownRequest = withUnknownIds(request)
      t.equal(
        (
          await send(withUnknownParameter(unknownRequest), {
            raw: '{}',
            headers: { 'content-type': 'text/plain' },
          })
        ).status,
        415,
        `${id} with another Content-Type`,
      )
      if (!withFields.some((info) => info.id === id))
        t.equal(
          (await send(withUnknownParameter(unknownRequest), halfBodyOf(request))).status,
          400,
          `${id} with half a body`,
        )
      t.equal(
        (await send({ ...unknownRequest, body: { ...request.body, surprise: '1' } })).status,
        400,
        `${id} with an unknown field`,
      )
    }
  },
)
