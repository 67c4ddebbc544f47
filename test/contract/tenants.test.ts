// Tenant isolation of every operation: requests for another tenant's resources, and the caller's own requests
// with one id of another tenant in the path, the query, the upload metadata or the body. They are answered
// with 403 or 404. The answer shows nothing of the other tenant, and nothing changes. `npm test` asks with
// the access token of a session where an operation needs one, `npm run faults` for all operations.
import t, { type Test } from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { allScopes, defaultScopes, isOperatorScope } from '../../services/users/scopes.ts'
import { createSender } from '../support/contract/constraint-requests.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createApiKey, createProject } from '../support/database/db-fixtures.ts'
import { catalogFor, insertedCheckout } from '../support/database/db-fixtures-payments.ts'
import {
  fixtures,
  operationInfos,
  projectOf,
  requestFor,
  send,
  toUnknownId,
} from '../support/operations/operation-fixtures.ts'
import type { Fixture, OperationRequest } from '../support/operations/operation-fixture.ts'
import {
  expectationOf,
  sharedPrefixes,
  unusedExceptions,
  type Caller,
  type Expectation,
} from '../support/operations/tenant-expectations.ts'
import { idPrefixOf, readTextSites, type TextSite } from '../support/operations/text-sites.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import { createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { database } = server.services
const changes = await recordChanges(t, server)
const sites = await readTextSites()
const sendPart = createSender(server.url)
let requestCount = 0

const name = 'A stranger by name'
const owner = await server.person({ name })
const former = await server.person({ name })

/** The requests of the owner, in a project and outside. */
const theirs = new Map<OperationId, OperationRequest[]>()
/** Requests of a former member for what she made in a project. */
const formerRequests: OperationRequest[] = []
for (const { id, projectAccess } of operationInfos) {
  const requests = [await requestFor(server, id, { caller: owner })]
  if ((fixtures[id] as Fixture).withoutProject !== undefined)
    requests.push(await requestFor(server, id, { caller: owner, withoutProject: true }))
  theirs.set(id, requests)
  if (projectAccess !== null && projectAccess.role !== 'none')
    formerRequests.push(await requestFor(server, id, { caller: former }))
}
await database.prisma.member.deleteMany({ where: { userId: former.id } })
const theirIds = idsOfOwner()
const customer = await database.prisma.customer.findFirstOrThrow({ where: { userId: owner.id } })
theirIds.set('cus', new Set([customer.id]))
// Paying one of these orders would answer the open session of the owner.
await insertedCheckout(server, [...theirIds.get('ord')!].at(-1)!)
await catalogFor(server)
/** All ids that exist before the callers below have resources of their own. */
const idsBefore = await idsInDatabase()

const operator = () => server.person({ role: 'admin', scopes: [...allScopes] })
const withSession: Caller = { kind: 'tenant', person: await signedIn(await server.person()) }
const callers: Caller[] = [
  { kind: 'tenant', person: await server.person() },
  withSession,
  await limitedCaller('limited', owner),
  { kind: 'operator', person: await operator() },
  await limitedCaller('limited operator', await operator()),
]
/** All ids that were sent so far: a caller may see those again. */
const sentIds = new Set<string>()

interface Attempt {
  what: string
  expected: Expectation
  request: OperationRequest
  send: () => Promise<Reply>
}

for (const { id, needsSession } of operationInfos) {
  t.test(`${id} keeps tenants apart`, async (t) => {
    const attempts: Array<{ caller: Caller; attempt: Attempt }> = []
    for (const caller of callers) {
      if (caller === withSession && needsSession !== true && !isLongForm) continue
      for (const attempt of await attemptsOf(t, id, caller)) attempts.push({ caller, attempt })
    }
    const before = await changes()
    for (const { attempt } of attempts)
      if (typeof attempt.expected === 'number') await assertRefused(t, attempt)
    t.same(await changes(), before, 'the refused requests change nothing')
    for (const { caller, attempt } of attempts)
      if (attempt.expected === 'own') await assertOwn(t, caller, attempt)
  })
}

t.test('a former member has no access to what she made in the project', async (t) => {
  const before = await changes()
  for (const request of formerRequests)
    await assertRefused(t, { what: request.id, expected: 403, request, send: () => send(request) })
  t.same(await changes(), before, 'nothing changes')
})

t.test('every exception is used', async (t) => {
  t.same(unusedExceptions(), [])
  t.comment(`${requestCount} requests`)
  t.ok(requestCount > 1000, `${requestCount} requests`)
})

t.test("no list has another tenant's items, and its total does not count them", async (t) => {
  const person = await server.person()
  const lists = operationInfos.filter(
    ({ id, paged, path, scopes }) =>
      paged && !path.includes('{') && !scopes!.some(isOperatorScope) && expectedOf(id) === 'own',
  )
  for (const { id } of lists) {
    const mine = await requestFor(server, id, { caller: person })
    const listed = (caller = person) => send({ id, server, caller })
    const found = new Set((await listed(owner)).body.data.map((item: { id: string }) => item.id))
    t.ok(found.size > 0, `${id}: the other tenant has items`)
    for (const { body } of [await listed(), await send(mine)]) {
      t.ok(body.data.length > 0, `${id}: the caller has items`)
      t.notOk(
        body.data.some((item: { id: string }) => found.has(item.id)),
        `${id}: none belong to the other tenant`,
      )
      t.equal(body.pagination.total, body.data.length, `${id}: the total`)
    }
  }
})

function expectedOf(id: OperationId): Expectation {
  return expectationOf(id, 'tenant', { field: null, hasIds: false })
}

/** The requests of a caller for the owner's resources. */
async function attemptsOf(t: Test, id: OperationId, caller: Caller): Promise<Attempt[]> {
  const { kind, person } = caller
  const attempts = theirs.get(id)!.map((request): Attempt => {
    const asked = { ...request, caller: person }
    const hasIds = idsIn(request).some((each) => !sharedPrefixes.includes(prefixOf(each)))
    return {
      what: `${kind}: the request of the owner ${request.project === undefined ? '' : 'in a project'}`,
      expected: expectationOf(id, kind, { field: null, hasIds }),
      request: asked,
      send: () => send(asked),
    }
  })
  const { scopes, path, body } = operations[id] as OperationInfo
  if (kind === 'operator' || scopes === null || scopes.some(isOperatorScope)) return attempts
  const idSites = sites.of(id).filter(({ schema }) => isOfTenant(idPrefixOf(schema)))
  if (idSites.length === 0 && body?.streamed !== true) return attempts
  // The requests of the owner have its ids in a path with a single id.
  const isCovered = path.split('{').length === 2
  const others = isCovered && kind !== 'tenant' ? idSites.filter(({ name }) => name !== 'path id') : idSites
  if (others.length === 0) return attempts
  const mine = await requestOf(caller, id)
  attempts.push(...attemptsInMetadata(kind, mine))
  for (const site of others) attempts.push(...attemptsAt(t, { site, mine, kind }))
  return attempts
}

function isOfTenant(prefix: string | undefined): boolean {
  return prefix !== undefined && !sharedPrefixes.includes(prefix)
}

/** The caller's own request with an id of the owner, and with an unknown id, in one field. */
function attemptsAt(
  t: Test,
  { site, mine, kind }: { site: TextSite; mine: OperationRequest; kind: Caller['kind'] },
): Attempt[] {
  const prefix = idPrefixOf(site.schema)!
  const ids = [...(theirIds.get(prefix) ?? [])]
  if (ids.length === 0) t.fail(`${mine.id} ${site.name}: no resource of the owner has such an id`)
  const expected = expectationOf(mine.id, kind, { field: site.name, hasIds: true })
  const attempt = (text: string, status = expected): Attempt => {
    const value = sites.valueWith(mine, site, text)
    if (value === undefined) t.fail(`${mine.id} ${site.name}: cannot be sent`)
    return {
      what: `${kind}: ${text} in ${site.name}`,
      expected: status,
      request: { ...mine, query: { ...mine.query, [site.name]: JSON.stringify(value) } },
      send: () => sendPart(mine, site.root.part, value),
    }
  }
  const attempts = ids.filter((each) => each !== mine.caller.id).map((each) => attempt(each))
  // The answer does not show whether a user or customer exists. A checkout with a project also names another
  // buyer, who is refused first.
  const isHidden = prefix === 'usr' || prefix === 'cus' || (mine.id === 'createCheckout' && prefix === 'prj')
  if (kind === 'tenant' && expected === 403 && !isHidden) attempts.push(attempt(toUnknownId(ids[0]), 404))
  return attempts
}

/** The caller's own upload with the project of the owner in its metadata. */
function attemptsInMetadata(kind: Caller['kind'], mine: OperationRequest): Attempt[] {
  const metadata = mine.headers?.['upload-metadata']
  if (metadata === undefined || mine.project === undefined) return []
  const encoded = (text: string) => Buffer.from(text).toString('base64')
  return [...theirIds.get('prj')!].map((each) => {
    const changed = metadata.replace(encoded(mine.project!), encoded(each))
    const request = { ...mine, headers: { ...mine.headers, 'upload-metadata': changed } }
    return { what: `${kind}: ${each} in the metadata`, expected: 403, request, send: () => send(request) }
  })
}

/** The same user with the access token of a session. */
async function signedIn(person: Person): Promise<Person> {
  const { access_token: key } = await createSignIn(server, person.id)
  return { ...person, key, client: createClient(server.url, key) }
}

/** A user with a key that is limited to another project than the owner's. */
async function limitedCaller(kind: Caller['kind'], person: Person): Promise<Caller> {
  const project = await createProject({ server, caller: person, role: 'owner' })
  return { kind, person: { ...person, key: await limitedKey({ kind, person }, project) } }
}

async function limitedKey({ kind, person }: Caller, project: string): Promise<string> {
  const scopes = kind === 'limited' ? defaultScopes('user') : [...allScopes]
  return (await createApiKey(server, person.id, { scopes, projectIds: [project] })).secret
}

/** A request for the caller's own resources. A limited key is limited to their project. */
async function requestOf(caller: Caller, id: OperationId): Promise<OperationRequest> {
  const { kind, person } = caller
  const request = await requestFor(server, id, { caller: person })
  if (kind === 'tenant' || (operations[id] as OperationInfo).projectAccess === null) return request
  return { ...request, caller: { ...person, key: await limitedKey(caller, projectOf(request)) } }
}

async function assertRefused(t: Test, { what, expected, request, send }: Attempt): Promise<void> {
  const reply = await send()
  requestCount++
  const shown = shownBy(reply)
  t.equal(reply.status, expected, `${what}: ${shown.slice(0, 300)}`)
  if (/Theirs|@example\.com|A stranger by name/.test(shown)) t.fail(`${what} shows data: ${shown}`)
  const known = idsIn(request)
  const others = idsOf(shown).filter((each) => !known.includes(each))
  if (others.length > 0) t.fail(`${what} shows ${others.join()}`)
}

async function assertOwn(t: Test, { kind, person }: Caller, attempt: Attempt): Promise<void> {
  const { what, request, send } = attempt
  const reply = await send()
  requestCount++
  const shown = shownBy(reply)
  t.ok(reply.status < 500, what)
  for (const each of idsIn(request)) sentIds.add(each)
  // A limited key reads the profile, its events and the picture of its user.
  const open = [...sharedPrefixes, ...(kind === 'limited' ? ['evt', 'avt', 'pky', 'idn'] : [])]
  const foreign = idsOf(shown).filter(
    (each) =>
      idsBefore.has(each) && !sentIds.has(each) && each !== person.id && !open.includes(prefixOf(each)),
  )
  if (foreign.length > 0) t.fail(`${what} shows ${foreign.join()}: ${shown.slice(0, 2000)}`)
  if (kind !== 'limited' && shown.includes(name)) t.fail(`${what} shows the name of the owner`)
}

/** Everything that the client gets. */
function shownBy({ headers, text }: Reply): string {
  return `${text} ${JSON.stringify([...headers])}`
}

/** Ids of the owner's resources by prefix: one in a project, and one outside all projects. */
function idsOfOwner(): Map<string, Set<string>> {
  const found = new Map([['usr', new Set([owner.id])]])
  for (const { id } of operationInfos.filter(({ scopes }) => scopes?.some(isOperatorScope) !== true)) {
    for (const { params = {} } of theirs.get(id)!) {
      for (const each of Object.values(params)) {
        const ids = found.get(prefixOf(each)) ?? new Set()
        if (ids.size < 2) found.set(prefixOf(each), ids.add(each))
      }
    }
  }
  return found
}

function idsOf(text: string): string[] {
  return [...new Set(text.match(/\b[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g) ?? [])]
}

/** The ids in the request, those in the upload metadata included. */
function idsIn({ params, query, body, headers }: OperationRequest): string[] {
  const metadata = (headers?.['upload-metadata'] ?? '')
    .split(',')
    .map((each) => Buffer.from(each.split(' ')[1] ?? '', 'base64').toString())
  return idsOf(JSON.stringify([params, query, body, metadata]))
}

function prefixOf(id: string): string {
  return id.split('_')[0]
}

/** The ids of all rows, except the shared ones: the catalog, and the admin, who owns all projects. */
async function idsInDatabase(): Promise<Set<string>> {
  const { rows: tables } = await database.pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'id' AND data_type = 'text'`,
  )
  const all = tables.map(({ name }) => `SELECT id FROM ${name}`).join(' UNION ALL ')
  const { rows } = await database.pool.query<{ id: string }>(
    `((${all}) EXCEPT SELECT id FROM events WHERE type ~ '^(product|price)') EXCEPT SELECT $1`,
    [server.admin.id],
  )
  return new Set(rows.map(({ id }) => id))
}
