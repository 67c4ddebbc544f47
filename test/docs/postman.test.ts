// The Postman collection: Postman's own library reads it and builds the requests, which this server answers.
import { createRequire } from 'node:module'
import sharp from 'sharp'
import t from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { provideEmbeddings } from '../support/operations/operation-fixtures-ai.ts'
import { startServer } from '../support/server/server.ts'

type Json = any

// A CommonJS package, whose types do not fit an import.
const postman: Json = createRequire(import.meta.url)('postman-collection')
const server = await startServer(t)
const response = await fetch(`${server.url}/docs/postman.json`)
const json: Json = await response.json()
const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
  .png()
  .toBuffer()

t.test('the collection downloads as a file, with the variables to set', async (t) => {
  t.equal(response.status, 200)
  t.match(response.headers.get('content-disposition'), /filename="platform-api\.postman_collection\.json"/)
  t.match(json.info.schema, 'v2.1.0')
  const variables = Object.fromEntries(json.variable.map(({ key, value }: Json) => [key, value]))
  t.equal(variables.baseUrl, server.url)
  t.equal(variables.apiKey, '')
  t.same(json.auth, { type: 'bearer', bearer: [{ key: 'token', value: '{{apiKey}}', type: 'string' }] })
})

t.test('the URL is that of PUBLIC_URL', async (t) => {
  const { url } = await startServer(t, { env: { PUBLIC_URL: 'https://api.example.com' } })
  const { variable } = (await (await fetch(`${url}/docs/postman.json`)).json()) as Json
  t.equal(variable.find(({ key }: Json) => key === 'baseUrl').value, 'https://api.example.com')
})

t.test('every operation is in the folder of its tag, by its summary', async (t) => {
  const folders = json.item.flatMap((group: Json) => group.item)
  for (const [path, item] of Object.entries<Json>(contract.paths)) {
    for (const [method, { operationId, summary, tags, ...rest }] of Object.entries<Json>(item)) {
      if (operationId === undefined || rest['x-same-as'] !== undefined) continue
      const title = contract.tags.find(({ name }) => name === tags[0])!['x-displayName']
      const requests: Json[] = folders.find(({ name }: Json) => name === title).item
      const found = requests.find(
        (one) => one.name === summary && one.request.method === method.toUpperCase(),
      )
      t.ok(found, `${operationId} is in ${title}`)
      t.match(found?.request.url.raw, path.replaceAll(/\{([^}]+)\}/g, ':$1'))
    }
  }
})

t.test('optional headers and query parameters are disabled, and the file is the last field', async (t) => {
  for (const { name, request } of itemsOf(new postman.Collection(json)).map((item) => item.toJSON())) {
    const optional = ['If-Match', 'If-None-Match', 'Idempotency-Key', 'Range', 'X-Content-SHA256']
    for (const header of request.header ?? [])
      if (optional.includes(header.key)) t.equal(header.disabled, true, `${name}: ${header.key}`)
    for (const query of request.url.query ?? []) t.equal(query.disabled, true, `${name}: ${query.key}`)
    const fields = request.body?.formdata
    if (fields !== undefined) t.equal(fields.at(-1).type, 'file', name)
  }
})

/** Pages that show a wrong password or an unknown token with 422, where the other operations return 401. */
const signInPages = ['Submit the sign-in form', 'Use a token']

t.test('every request of the collection is valid', async (t) => {
  const collection = new postman.Collection(json)
  collection.variables.one('apiKey')!.set(server.key)
  provideEmbeddings(server)
  const statuses = new Map<string, number>()
  for (const item of itemsOf(collection)) {
    const { status, text } = await send(collection, item)
    if (item.name === 'Archive or restore a price') await activate(collection)
    statuses.set(item.name, status)
    // An earlier request may have deleted or expired the resource. Some resources are never created.
    const lacksResource = [404, 409, 410].includes(status) && !text.includes('no such path')
    // The collection has no session, and no tokens of mails.
    const lacksCredentials =
      ([401, 403].includes(status) && /"(credentials|unknown|session)"/.test(text)) ||
      (status === 422 && signInPages.includes(item.name))
    // The price of the examples is one-time.
    const lacksPlan = status === 400 && text.includes('"recurring"')
    const isValid = status < 400 || lacksResource || lacksCredentials || lacksPlan
    t.ok(isValid, `${item.name}: ${status}`, { text })
  }
  for (const name of [
    'List files',
    'Upload a file',
    'Download a file',
    'Update a project',
    'Append bytes to an upload',
    'Stream a chat completion',
    'Create an order',
  ])
    t.ok(statuses.get(name)! < 300, `${name}: ${statuses.get(name)}`)
})

/** The examples archive the product and its price, which then cannot be ordered. */
async function activate({ variables }: Json): Promise<void> {
  const { client } = server.admin
  for (const path of [`products/${variables.get('productId')}`, `prices/${variables.get('priceId')}`])
    await client.put(`/payments/${path}`, { active: true })
}

function itemsOf(group: Json): Json[] {
  const items: Json[] = []
  group.forEachItem((item: Json) => items.push(item))
  return items
}

/** Sends the enabled parts of the request, as Postman does, and then runs the script of the collection. */
async function send(collection: Json, { request, name }: Json): Promise<{ status: number; text: string }> {
  const variables = new Map(collection.variables.all().map(({ key, value }: Json) => [key, String(value)]))
  const filled = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, key) => String(variables.get(key)))
  const auth = request.auth?.type === 'noauth' ? {} : { authorization: filled('Bearer {{apiKey}}') }
  const answer = await fetch(filled(request.url.toString()), {
    method: request.method,
    headers: { ...request.getHeaders({ enabled: true }), ...auth },
    body: bodyOf(request, name, filled),
    signal: AbortSignal.timeout(10_000),
    redirect: 'manual',
  })
  // An event stream does not end by itself.
  const isEndless = name === 'Stream events'
  if (isEndless) await cancelAfterFirstBytes(answer)
  const text = isEndless ? '' : await answer.text()
  const pm = {
    response: { code: answer.status, headers: answer.headers },
    collectionVariables: {
      set: (key: string, value: string) => collection.variables.one(key)!.set(value),
    },
  }
  for (const event of collection.events.all()) new Function('pm', event.script.exec!.join('\n'))(pm)
  return { status: answer.status, text }
}

function bodyOf(request: Json, name: string, filled: (text: string) => string): Json {
  const { body } = request
  // The body of a new resumable upload is optional.
  if (body === undefined || name === 'Create a resumable upload') return undefined
  if (body.mode === 'raw') return filled(body.raw!)
  if (body.mode === 'file') return exampleFile(name)
  const form = body.mode === 'formdata' ? new FormData() : new URLSearchParams()
  for (const field of body[body.mode].all()) {
    if (field.disabled) continue
    if (field.type === 'file') (form as FormData).append(field.key, exampleFile(name))
    else form.append(field.key, filled(field.value))
  }
  return form
}

/** The file that a user of Postman selects. */
function exampleFile(name: string): File {
  return name.includes('avatar')
    ? new File([picture], 'me.png', { type: 'image/png' })
    : new File(['What is reported.\n'], 'report.txt', { type: 'text/plain' })
}

async function cancelAfterFirstBytes(answer: Response): Promise<void> {
  const reader = answer.body!.getReader()
  await reader.read()
  await reader.cancel()
}
