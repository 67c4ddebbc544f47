// Fields that all resources have: `updated_at`, and `metadata` from the creation on.
import t from 'tap'
import published from '../../generated/openapi.json' with { type: 'json' }
import { resolve } from '../../packages/openapi/resolve.ts'
import { createClient } from '../support/http/client.ts'
import { createFileLink } from '../support/database/db-fixtures.ts'
import {
  operationInfos,
  requestFor,
  send,
  served,
  successStatus,
  withJson,
} from '../support/operations/operation-fixtures.ts'
import { bodyOf, headersOf, replyOf } from '../support/contract/contract-schema.ts'
import { startServer } from '../support/server/server.ts'
import { download, uploadFile } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)

/** Events, archives and versions never change, and files in OpenAI's shape have no `updated_at`. */
const unchanging = [
  'getEvent',
  'getArchive',
  'getFileVersion',
  'getOpenAiFile',
  'getShare',
  'getSharedFolder',
]

const dataUrls = ['MessageImage.url', 'MessagePart.image_url', 'ResponseInputPart.image_url']

t.test('every URL is absolute', (t) => {
  const schemas = Object.entries<any>(published.components.schemas)
  for (const [name, { oneOf, ...schema }] of schemas) {
    for (const { properties = {} } of oneOf ?? [schema]) {
      for (const [property, declared] of Object.entries<any>(properties)) {
        if (!/(^|_)url$/.test(property) || dataUrls.includes(`${name}.${property}`)) continue
        const { format, pattern } = resolve(published, declared)
        t.ok(format === 'uri' || pattern?.startsWith('^https?://'), `${name}.${property}`)
      }
    }
  }
  t.end()
})

t.test('every resource has updated_at', (t) => {
  for (const { id } of operationInfos.filter(({ method }) => method === 'GET')) {
    const { properties = {}, required = [] } = replyOf(id, 200) ?? {}
    if (!('id' in properties && 'created_at' in properties) || unchanging.includes(id)) continue
    t.ok('updated_at' in properties && required.includes('updated_at'), id)
  }
  t.end()
})

for (const { id } of withJson.filter(({ method }) => method === 'POST')) {
  const reply = replyOf(id, successStatus(id))?.properties ?? {}
  // A response of OpenAI's API is not changed, and has other times.
  if (id === 'createResponse') continue
  if (!('metadata' in reply) || !('metadata' in (bodyOf(id).properties ?? {}))) continue
  t.test(`${id} stores metadata, and creation is the first update`, async (t) => {
    const request = await requestFor(server, id)
    const metadata = { ticket: 'OPS-12', empty: '' }
    const { body, text } = await send({ ...request, body: { ...request.body, metadata } })
    t.same(body.metadata, metadata, text)
    t.equal(body.updated_at, body.created_at)
  })
}

for (const { id } of served) {
  const status = successStatus(id)
  const hasLocation = headersOf(id, status).some(({ name }) => name === 'Location')
  if (status >= 300 || !hasLocation) continue
  t.test(`${id} answers with the ETag and the whole URL of the resource`, async (t) => {
    const request = await requestFor(server, id)
    const created = await send(request)
    const location = created.headers.get('location') ?? ''
    t.ok(location.startsWith(`${server.url}/v1/`), location)
    // A sign-in creates a session of the user whose token was sent.
    const client =
      created.body.access_token === undefined
        ? request.caller.client
        : createClient(server.url, created.body.access_token)
    const read = await client.get(location)
    t.equal(read.status, 200, read.text)
    t.equal(created.headers.get('etag'), read.headers.get('etag'))
  })
}

t.test('the use of a key changes neither updated_at nor the ETag', async (t) => {
  const { client } = await server.person()
  const { body: created } = await client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
  const path = `/user/api-keys/${created.id}`
  const before = await client.get(path)
  await createClient(server.url, created.key).get('/user/profile')
  await waitUntil(async () => (await client.get(path)).body.last_used_at !== null, 'the use')
  const after = await client.get(path)
  t.equal(after.body.updated_at, created.updated_at)
  t.equal(after.headers.get('etag'), before.headers.get('etag'))
  await client.delete(path)
  const { body: revoked } = await client.get(path)
  t.ok(revoked.updated_at > created.updated_at)
})

t.test('a rotated key passes its metadata on', async (t) => {
  const { client } = await server.person()
  const fields = { name: 'x', scopes: ['user:read'], metadata: { team: 'press' } }
  const { body: old } = await client.post('/user/api-keys', fields)
  const { body: renewed } = await client.post(`/user/api-keys/${old.id}/rotate`, {})
  t.same(renewed.metadata, { team: 'press' })
  t.ok((await client.get(`/user/api-keys/${old.id}`)).body.updated_at > old.updated_at)
})

t.test('a download changes neither updated_at nor the ETag of its link', async (t) => {
  const owner = await server.person()
  const file = await uploadFile(owner.client, { bytes: Buffer.from('x') })
  const { id, token } = await createFileLink(server, file.id, owner.id)
  const path = `/storage/files/${file.id}/links/${id}`
  const before = await owner.client.get(path)
  await download(server.url, `/storage/links/${token}`)
  const after = await owner.client.get(path)
  t.equal(after.body.download_count, 1)
  t.equal(after.body.updated_at, before.body.updated_at)
  t.equal(after.headers.get('etag'), before.headers.get('etag'))
  await owner.client.delete(path)
  t.ok((await owner.client.get(path)).body.updated_at > before.body.updated_at)
})

t.test('an accepted invitation passes its metadata on', async (t) => {
  const owner = await server.person()
  const { body: project } = await owner.client.post('/projects', { name: 'x' })
  const path = `/projects/${project.id}`
  const email = `guest-${project.id}@example.com`
  const fields = { email, role: 'viewer', metadata: { team: 'press' } }
  const { body: invitation } = await owner.client.post(`${path}/members`, fields)
  const guest = await server.person({ email })
  const { body: member } = await guest.client.post(`${path}/invitations/${invitation.id}/accept`, {})
  t.same(member.metadata, { team: 'press' })
  const { body: accepted } = await owner.client.get(`${path}/invitations/${invitation.id}`)
  t.ok(accepted.updated_at > accepted.created_at)
})

t.test('received bytes update an upload', async (t) => {
  const { client } = await server.person()
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': '2', 'upload-metadata': 'name YQ==' }
  const { body: created } = await client.post('/storage/uploads', undefined, { headers })
  t.equal(created.updated_at, created.created_at)
  const type = 'application/offset+octet-stream'
  await client.call('PATCH', `/storage/uploads/${created.id}`, {
    raw: Buffer.from('x'),
    headers: { 'tus-resumable': '1.0.0', 'upload-offset': '0', 'content-type': type },
  })
  const { body: begun } = await client.get(`/storage/uploads/${created.id}`)
  t.ok(begun.updated_at > created.updated_at)
})
