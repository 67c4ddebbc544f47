// Expiries in requests: each operation that takes `expires_at` takes `expires_in_seconds` in its place, with
// the same limits. The operations are read from the contract.
import t from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { operations, type OperationId } from '../../generated/operations.ts'
import { expiryOf } from '../../infra/contract/expiry.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { resolve } from '../../packages/openapi/resolve.ts'
import type { Reply } from '../support/http/client.ts'
import { requestFor, send } from '../support/operations/operation-fixtures.ts'
import { startServer } from '../support/server/server.ts'

type Json = any

const server = await startServer(t)

/** The properties of the bodies of an operation, those of alternatives included. */
function propertiesOf(info: OperationInfo): Record<string, Json> {
  const { requestBody } = (contract.paths as Json)[info.path.replace('/v1', '')][info.method.toLowerCase()]
  const schemas: Json[] = Object.values<Json>(requestBody?.content ?? {}).map(({ schema }) =>
    resolve(contract, schema ?? {}),
  )
  const objects = schemas.flatMap((schema) => [schema, ...(schema.oneOf ?? [])])
  return Object.assign({}, ...objects.map(({ properties }) => properties ?? {}))
}

const withExpiry = Object.values(operations as Record<string, OperationInfo>).filter((info) => {
  const { expires_at: at, expires_in_seconds: inSeconds } = propertiesOf(info)
  return at !== undefined || inSeconds !== undefined
})

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString()

async function sendWith(id: string, expiry: Record<string, unknown>): Promise<Reply> {
  const request = await requestFor(server, id as OperationId)
  const { expires_at: _at, expires_in_seconds: _in, ...body } = request.body as Json
  return await send({ ...request, body: { ...body, ...expiry } })
}

t.test('the operations with an expiry', async (t) => {
  t.same(withExpiry.map(({ id }) => id).sort(), [
    'createApiKey',
    'createCheckout',
    'createFileLink',
    'createServiceAccountKey',
    'createShare',
    'createUploadLink',
    'rotateApiKey',
    'setEntitlement',
    'updateFile',
    'uploadFile',
  ])
})

for (const info of withExpiry)
  t.test(`${info.id} takes expires_at or expires_in_seconds`, async (t) => {
    const { id } = info
    const { expires_at: at, expires_in_seconds: seconds } = propertiesOf(info)
    t.equal(at?.format, 'date-time')
    const { minimum, maximum } = resolve(contract, seconds)
    const lifetime = minimum + 100

    const later = await sendWith(id, { expires_in_seconds: lifetime })
    t.ok(later.status < 300, `${later.status} ${later.text}`)
    const left = Date.parse(later.body.expires_at) - Date.now()
    t.ok(left <= lifetime * 1000 && left > lifetime * 1000 - 60_000, `it expires in ${left} ms`)
    const time = inSeconds(lifetime)
    t.equal((await sendWith(id, { expires_at: time })).body.expires_at, time)

    const both = await sendWith(id, { expires_at: time, expires_in_seconds: lifetime })
    t.equal(both.status, 400)
    t.match(both.body.error, {
      message: /expires_at and expires_in_seconds/,
      details: { field: 'expires_in_seconds', constraint: 'exclusive' },
    })
    t.match((await sendWith(id, { expires_at: inSeconds(-1) })).body.error, {
      code: 'INVALID_REQUEST',
      details: { field: 'expires_at', constraint: 'future' },
    })
    const refused = async (expiry: Record<string, unknown>, constraint: string): Promise<void> => {
      const { status, body } = await sendWith(id, expiry)
      t.equal(status, 400)
      t.match(body.error.details, { field: Object.keys(expiry)[0], constraint })
    }
    await refused({ expires_in_seconds: minimum - 1 }, 'minimum')
    if (minimum > 1) await refused({ expires_at: inSeconds(minimum - 60) }, 'minimum')
    if (maximum > 2 ** 31 - 2) return
    await refused({ expires_in_seconds: maximum + 1 }, 'maximum')
    await refused({ expires_at: inSeconds(maximum + 60) }, 'maximum')
  })

t.test('a resumable upload takes expires_in_seconds', async (t) => {
  const { client } = server.admin
  const create = (metadata: Record<string, string>): Promise<Reply> =>
    client.post('/storage/uploads', undefined, {
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': '0',
        'upload-metadata': Object.entries({ filename: 'empty.txt', ...metadata })
          .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
          .join(),
      },
    })
  const { status, body } = await create({ expires_in_seconds: '3600' })
  t.equal(status, 201)
  const { body: file } = await client.get(`/storage/files/${body.file_id}`)
  const left = Date.parse(file.expires_at) - Date.now()
  t.ok(left <= 3_600_000 && left > 3_500_000)
  t.equal((await create({ expires_in_seconds: '1', expires_at: inSeconds(60) })).status, 400)
  t.match((await create({ expires_in_seconds: '1.5' })).body.error.details, {
    field: 'expires_in_seconds',
    constraint: 'type',
  })
  t.match((await create({ expires_in_seconds: '0' })).body.error.details, {
    field: 'expires_in_seconds',
    constraint: 'minimum',
  })
})

t.test('a file that never expires again, and an update of other fields', async (t) => {
  const { body: file } = await sendWith('uploadFile', { expires_in_seconds: 3600 })
  const { client } = server.admin
  const path = `/storage/files/${file.id}`
  t.equal((await client.put(path, { tags: [] })).body.expires_at, file.expires_at)
  t.equal((await client.put(path, { expires_at: null })).body.expires_at, null)
  t.equal(expiryOf({ expires_at: null }), null)
  t.equal(expiryOf({}), undefined)
})
