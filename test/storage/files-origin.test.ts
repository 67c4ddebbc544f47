// FILES_URL: users' files have a host of their own, which serves nothing else. Strict-Transport-Security.
import sharp from 'sharp'
import t from 'tap'
import { request } from 'undici'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { startServer } from '../support/server/server.ts'
import { uploadFile, uploadForm } from '../support/storage/storage.ts'

const filesUrl = 'http://files.example'
const server = await startServer(t, { env: { FILES_URL: filesUrl, PUBLIC_URL: 'https://api.example' } })
const owner = await server.person()
const content = Buffer.from('alert(1)')

async function get(host: string, path: string, headers: Record<string, string> = {}) {
  const {
    statusCode,
    headers: answered,
    body,
  } = await request(server.url + path, {
    headers: { host, ...headers },
  })
  return { status: statusCode, headers: answered, text: await body.text() }
}

async function avatarForm() {
  const picture = sharp({ create: { width: 8, height: 8, channels: 3, background: '#f00' } })
  const form = uploadForm({ bytes: await picture.png().toBuffer() })
  return { raw: form.body, headers: form.headers }
}

t.test('links and avatars have URLs of the host for files, which serves them', async (t) => {
  const file = await uploadFile(owner.client, { bytes: content, name: 'a.js' })
  const link = (await owner.client.post(`/storage/files/${file.id}/links`, {})).body
  const avatar = (await owner.client.call('POST', '/user/avatar', await avatarForm())).body
  const profile = (await owner.client.get('/user/profile')).body
  for (const url of [link.url, avatar.url, avatar.variants[0].url, profile.avatar_url]) {
    t.ok(url.startsWith(`${filesUrl}/v1/`), url)
    const path = url.slice(filesUrl.length)
    t.match(await get('files.example', path), { status: 200 }, path)
    t.match(await get('FILES.example:80', path), { status: 200 }, 'in capitals, with the default port')
    t.match(await get('api.example', path), { status: 307, headers: { location: url }, text: '' })
  }
})

t.test('a public file is redirected, and a request with a key is answered', async (t) => {
  const { id } = await uploadFile(owner.client, {
    bytes: content,
    name: 'a.js',
    fields: { visibility: 'public' },
  })
  const path = `/v1/storage/files/${id}/download`
  t.match(await get('files.example', `${path}?disposition=inline`), { status: 200, text: 'alert(1)' })
  t.match(await get('api.example', `${path}?disposition=inline`), {
    status: 307,
    headers: { location: `${filesUrl}${path}?disposition=inline`, 'cache-control': 'no-store' },
  })
  const authorization = `Bearer ${owner.key}`
  t.match(await get('api.example', path, { authorization }), { status: 200, text: 'alert(1)' })
})

t.test('the host for files serves nothing else', async (t) => {
  const authorization = `Bearer ${owner.key}`
  for (const path of [
    '/',
    '/docs',
    '/healthz',
    '/openapi.json',
    '/v1/user/profile',
    '/pay/chk_1',
    '/nothing',
  ])
    t.match(await get('files.example', path, { authorization }), { status: 404 }, path)
  t.match(await get('api.example', '/v1/user/profile', { authorization }), { status: 200 })
})

t.test('with PUBLIC_URL, only the hosts of the server are served', async (t) => {
  const refused = { status: 400, text: /"field":"Host","constraint":"host"/ }
  for (const host of [
    'evil.test',
    'api.example.',
    'xapi.example',
    'api.example:8080',
    'a b',
    '127.0.0.1.nip.io',
  ])
    t.match(await get(host, '/openapi.json'), refused, host)
  for (const host of ['files.example.', 'FILES.example', 'files.example:80'])
    t.match(await get(host, '/openapi.json'), { status: 404 }, `${host} serves files only`)
  for (const host of [
    'api.example',
    'API.example',
    'api.example:443',
    'localhost:3000',
    '10.0.0.7:3000',
    '[::1]:80',
  ])
    t.match(await get(host, '/openapi.json'), { status: 200 }, host)
  t.match(await get('10.1.2.3.probe', '/healthz'), { status: 200 }, 'health checks come by any name')
  const env = { PUBLIC_URL: 'https://api.example', ALLOWED_HOSTS: 'platform.internal:3000,other.internal' }
  const { url } = await startServer(t, { env })
  for (const [host, status] of [
    ['platform.internal:3000', 200],
    ['other.internal', 200],
    ['platform.internal', 400],
  ] as const)
    t.equal((await request(`${url}/openapi.json`, { headers: { host } })).statusCode, status, host)
})

t.test('the host for files needs its port, if it has one', async (t) => {
  const env = { PUBLIC_URL: 'https://api.example', FILES_URL: 'http://files.example:8443' }
  const { url } = await startServer(t, { env })
  for (const host of ['files.example', 'files.example.', 'files.example:8443'])
    t.equal((await request(`${url}/openapi.json`, { headers: { host } })).statusCode, 404, host)
  const host = 'files.example:1'
  t.equal((await request(`${url}/openapi.json`, { headers: { host } })).statusCode, 400, host)
})

t.test('every response has Strict-Transport-Security if PUBLIC_URL is https', async (t) => {
  const expected = { 'strict-transport-security': 'max-age=31536000', 'x-content-type-options': 'nosniff' }
  for (const path of ['/healthz', '/docs', '/v1/user/profile', '/nothing', '/v1/projects/%E0%A4%A'])
    t.match((await get('api.example', path)).headers, expected, path)
  const plain = await startServer(t, { env: { PUBLIC_URL: 'http://api.example' } })
  const { headers, body } = await request(`${plain.url}/healthz`)
  await body.dump()
  t.notHas(headers, 'strict-transport-security')
})

t.test('both addresses on one host are a mistake in the settings', (t) => {
  const settings = { PUBLIC_URL: 'https://api.example', FILES_URL: 'https://API.example:443/files' }
  t.throws(() => readConfig(settings), new ConfigError('FILES_URL must have another host than PUBLIC_URL.'))
  t.end()
})
