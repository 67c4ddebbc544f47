// Injection: every text of a request of every operation, replaced by payloads for SQL, headers, pages, paths,
// templates and logs. `npm run faults` sends all of them, `npm test` a sample. The comment has the seed:
// SEED=1 node scripts/test/main.ts test/faults/injection.test.ts
import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import t, { type Test } from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { cards, createCheckout, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import { isEndless } from '../support/contract/contract-schema.ts'
import { createSender } from '../support/contract/constraint-requests.ts'
import type { Attachment } from '../support/http/form-body.ts'
import { insertedPrice, insertedProduct } from '../support/database/db-fixtures-payments.ts'
import { evaluated, injectedElement, marker, payloads } from '../support/operations/injection-payloads.ts'
import { operationIds, requestFor, send, served } from '../support/operations/operation-fixtures.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import { startServer } from '../support/server/server.ts'
import { readTextSites, valueAtSite, type TextSite } from '../support/operations/text-sites.ts'
import { isLongForm } from '../support/long-form.ts'

const seed = Number(process.env.SEED ?? Math.trunc(Math.random() * 2 ** 31))
const sampleSize = 200
/** An answer that takes longer is sent again, and has to be faster then. */
const slowMs = 2_000

/** One place for a text in the requests of an operation. */
interface Target {
  name: string
  /** Sends the request with the text; undefined when the text cannot be sent there. */
  send(request: OperationRequest, text: string): Promise<Reply> | undefined
  /** The text at the same place of an answer. */
  stored?(body: unknown): unknown
  isUrl?: boolean
}

/** Header fields that operations do not declare: each operation gets one of them. */
const headerNames = [
  'x-request-id',
  'accept',
  'user-agent',
  'x-forwarded-for',
  'range',
  'cookie',
  'authorization',
]

const metadataNames = [
  'filename',
  'filetype',
  'path',
  'tags',
  'metadata',
  'visibility',
  'expires_at',
  'sha256',
  'project_id',
  'other',
]

const unknownParameter: Target = {
  name: 'query (name)',
  send: (request, text) => send({ ...request, query: { ...request.query, [text]: text } }),
}

const server = await startServer(t, { env: { WEBHOOK_ALLOWED_NETWORKS: '', STREAM_PING: '1' } })
const sites = await readTextSites()
const sendPart = createSender(server.url)
const all = served.flatMap(({ id }) =>
  targetsOf(id).flatMap((target) => Object.keys(payloads).map((payload) => ({ id, target, payload }))),
)
const chosen = isLongForm
  ? all
  : fc.sample(fc.subarray(all, { minLength: sampleSize, maxLength: sampleSize }), { seed, numRuns: 1 })[0]
const counts = { sent: 0, rejected: 0, stored: 0, pages: 0 }
t.comment(`seed ${seed}: ${chosen.length} of ${all.length} payloads`)

for (const { id } of served) {
  const cases = chosen.filter((each) => each.id === id)
  if (cases.length === 0) continue
  t.test(`${id} takes every text as a text`, { timeout: 1_200_000 }, async (t) => {
    const logged = server.logs.length
    let request = await requestFor(server, id)
    for (const { target, payload } of cases) {
      const form = target.name.startsWith('form ')
      if ((request.form === true) !== form) request = await requestFor(server, id, { form })
      const reply = await assertHarmless(t, request, target, payload)
      // A request that changed something may not be possible again.
      if (reply !== undefined && reply.status < 400 && operations[id].method !== 'GET')
        request = await requestFor(server, id, { form })
    }
    assertLog(t, server.logs.slice(logged))
  })
}

t.test('pages show what users wrote as text', async (t) => {
  const escapable = Object.entries(payloads).filter(
    ([name, text]) =>
      text.isWellFormed() && !text.includes('\0') && (isLongForm || /HTML|template|header/.test(name)),
  )
  const plain = await pagesWith('Plain')
  t.ok(plain.every((page) => elementsOf(page).length > 10))
  for (const [name, text] of escapable) {
    for (const [i, page] of (await pagesWith(text.slice(0, 500))).entries()) {
      counts.pages++
      const others = elementsOf(page).filter((element) => !elementsOf(plain[i]).includes(element))
      t.same(others, [], `${name} in page ${i}`)
      t.notMatch(page, evaluated, `${name} in page ${i}`)
    }
  }
})

/** The payment page, the page with a rejected card, and the receipt of an order of a product of this name. */
async function pagesWith(name: string): Promise<string[]> {
  const person = await server.person({ name })
  const price = await insertedPrice(server, await insertedProduct(server, { name }))
  const order = await createCheckout(person, { items: [{ price_id: price }], mode: 'payment' })
  const page = await createClient(server.url, null).get(`/pay/${order.id}`)
  const rejected = await createClient(server.url, null).call('POST', `/pay/${order.id}`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    raw: new URLSearchParams({
      number: '4242',
      expiry: '12 / 34',
      cvc: '123',
      name: name.slice(0, 100),
    }).toString(),
  })
  await payWithCard(server, order.id, cards.succeeds)
  const receipt = await person.client.get(`/payments/orders/${order.order_id}/receipt`)
  return [page.text, rejected.text, receipt.text]
}

t.test('the requests reached the server, and it is well', async (t) => {
  t.comment(
    `${counts.sent} requests: ${counts.rejected} rejected, ${counts.stored} read back, ${counts.pages} pages`,
  )
  t.ok(counts.sent > (isLongForm ? 7_400 : sampleSize / 2), JSON.stringify(counts))
  t.ok(counts.stored > 0)
  t.equal((await server.admin.client.get('/user/profile')).status, 200)
})

async function assertHarmless(
  t: Test,
  request: OperationRequest,
  target: Target,
  payload: string,
): Promise<Reply | undefined> {
  const text = payloads[payload]
  const what = `${request.id} ${target.name}: ${payload}`
  let reply: Reply | undefined
  let fastest = Infinity
  for (let round = 0; round < 3 && fastest > slowMs; round++) {
    const start = performance.now()
    try {
      const sending = target.send(request, text)
      if (sending === undefined) return undefined
      counts.sent++
      reply = await sending
    } catch (error) {
      t.fail(`${what} (SEED=${seed}): ${(error as Error).message.slice(0, 500)}`)
      return undefined
    }
    fastest = Math.min(fastest, performance.now() - start)
  }
  const found = problemsOf(reply!)
  if (fastest > slowMs) found.push(`took ${Math.round(fastest)} ms`)
  if (reply!.status >= 400) counts.rejected++
  else found.push(...(await problemsOfSuccess(request, reply!, { target, text })))
  if (found.length > 0)
    t.fail(`${what} (SEED=${seed}): ${found.join('; ')}: ${reply!.status} ${reply!.text.slice(0, 300)}`)
  return reply
}

/** The cookies that sign-ins set. */
const ownCookie = /^(session|oidc|portal)=[\w.-]*; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/

/** The problems of an answer of any status. */
function problemsOf({ status, headers, text }: Reply): string[] {
  const found: string[] = []
  if (status >= 500) found.push('a server error')
  const foreign = headers.getSetCookie().filter((cookie) => !ownCookie.test(cookie))
  if (headers.has('x-injected') || foreign.length > 0) found.push('an injected header')
  if (text.includes(evaluated)) found.push('an evaluated template')
  if (/root:[x*]:0:0/.test(text)) found.push('a file of the machine')
  if (/syntax error at or near|SQLSTATE|prisma|node_modules/i.test(text)) found.push('an internal error')
  if (headers.get('content-type')?.startsWith('text/html') === true) {
    counts.pages++
    if (elementsOf(text).includes(injectedElement)) found.push('an injected element')
  }
  return found
}

async function problemsOfSuccess(
  request: OperationRequest,
  reply: Reply,
  { target, text }: { target: Target; text: string },
): Promise<string[]> {
  const found: string[] = []
  if (target.isUrl === true && /^(?!https?:)/.test(text)) found.push('accepted a URL of another scheme')
  if (target.isUrl === true && request.id.includes('Webhook')) found.push('accepted an internal URL')
  const { paged } = operations[request.id] as OperationInfo
  // Only a selector of event types has a wildcard, and `project_id=*` is all projects.
  const isFilter =
    /^query (?!cursor|event_type)/.test(target.name) && !(target.name === 'query project_id' && text === '*')
  if (paged && isFilter) {
    const others = reply.body.data.filter(
      (item: unknown) => !JSON.stringify(item).includes(JSON.stringify(text).slice(1, -1)),
    )
    if (others.length > 0) found.push(`a filter that matches ${others.length} others`)
  }
  const stored = target.stored?.(reply.body)
  if (typeof stored !== 'string') return found
  counts.stored++
  if (stored !== text) found.push(`answered ${JSON.stringify(stored.slice(0, 100))}`)
  const location = reply.headers.get('location')
  if (location === null) return found
  const again = await request.caller.client.get(location)
  const read = target.stored?.(again.body)
  if (again.status !== 200 || read !== text) found.push(`read back ${again.status} ${JSON.stringify(read)}`)
  return found
}

/** Every line is one JSON object without a payload, except for the request id of the client. */
function assertLog(t: Test, lines: string[]): void {
  for (const line of lines) {
    if (line.trimEnd().includes('\n')) t.fail(`an entry with two lines: ${line}`)
    const { client_request_id: _id, ...entry } = JSON.parse(line)
    if (JSON.stringify(entry).includes(marker)) t.fail(`the log has a text of a client: ${line}`)
  }
}

/** The names of the elements of a page, and of the attributes that run scripts. */
function elementsOf(page: string): string[] {
  const names = new Set<string>()
  const parser = new Parser({
    onopentag(name, attributes) {
      names.add(name)
      for (const each of Object.keys(attributes)) if (each.startsWith('on')) names.add(`${name} ${each}`)
    },
  })
  parser.end(page)
  return [...names]
}

function targetsOf(id: OperationId): Target[] {
  const { body, method } = operations[id] as OperationInfo
  return [
    ...sites.of(id).map(siteTarget),
    ...(isEndless(id) ? [] : [headerTarget(headerNames[operationIds.indexOf(id) % headerNames.length])]),
    ...(id === 'createUpload' ? metadataNames.map(metadataTarget) : []),
    ...(body?.form === undefined
      ? []
      : (['filename', 'type'] as const).map((name) => fileTarget(body.form!.file, name))),
    ...(method === 'GET' ? [unknownParameter] : []),
  ]
}

function siteTarget(site: TextSite): Target {
  const { part } = site.root
  return {
    name: site.name,
    send(request, text) {
      const value = sites.valueWith(request, site, text)
      // A longer id is another path, and no header is sent that long.
      if (value === undefined || (part === 'path' && (!text.isWellFormed() || text.length > 100)))
        return undefined
      return sendPart(request, part, value)
    },
    stored: part === 'body' || part === 'form' ? (answer) => valueAtSite(answer, site) : undefined,
    isUrl: site.schema.format === 'uri',
  }
}

function headerTarget(name: string): Target {
  return {
    name: `header ${name}`,
    send: (request, text) =>
      /^[\x20-\x7e]*$/.test(text) && text.length < 8_000
        ? send(request, { headers: { [name]: text } })
        : undefined,
  }
}

function metadataTarget(name: string): Target {
  return {
    name: `upload metadata ${name}`,
    send(request, text) {
      const others = request
        .headers!['upload-metadata'].split(',')
        .filter((each) => !each.startsWith(`${name} `))
      const metadata = [...others, `${name} ${Buffer.from(text).toString('base64')}`].join()
      if (metadata.length > 8_000) return undefined
      return send(request, { headers: { 'upload-metadata': metadata } })
    },
  }
}

function fileTarget(field: string, name: 'filename' | 'type'): Target {
  return {
    name: `form file ${name}`,
    send(request, text) {
      const file = { ...(request.body![field] as Attachment), [name]: text }
      return send({ ...request, body: { ...request.body, [field]: file } })
    },
  }
}
