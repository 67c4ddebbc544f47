// The quota of uploads in progress: their bytes are reserved, so that uploads at once never hold more than
// the quota on disk, and the first bytes of each.
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { deleteBatch } from '../../infra/jobs/retention.ts'
import * as sql from '../../generated/sql/storage.ts'
import { unreservedBytes } from '../../services/storage/reservations.ts'
import type { Reply } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  assertNothingLeft,
  openConnection,
  upload,
  uploadFile,
  uploadForm,
  uploadHead,
  type RawConnection,
} from '../support/storage/storage.ts'
import { tusClient } from '../support/http/tus.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

/** Small, so that the test is quick. Most files below have several times the `unreservedBytes`. */
const MB = 500_000
const quota = 5 * MB
const server = await startServer(t, {
  env: {
    STORAGE_QUOTA_USER: String(quota),
    STORAGE_QUOTA_PROJECT: String(quota),
    UPLOADS_PER_USER: '40',
    UPLOAD_MAX_BYTES: String(quota),
  },
})

function bytesOnDisk(): number {
  const folder = join(server.services.config.storageDir, 'incoming')
  if (!existsSync(folder)) return 0
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

interface OpenUpload {
  connection: RawConnection
  rest: Buffer
}

/** Sends an upload but for its last bytes. */
async function begin(
  t: Test,
  { key }: Person,
  bytes: number,
  { chunked = false, headers = [] as string[], project = null as string | null } = {},
): Promise<OpenUpload> {
  const fields: Record<string, string> = project === null ? {} : { project_id: project }
  const { body, boundary } = uploadForm({ bytes: randomBytes(bytes), fields })
  const connection = await openConnection(t, server.url)
  await connection.write(uploadHead(key, boundary, chunked ? 'chunked' : body.length, headers))
  const [first, rest] = [body.subarray(0, -100), body.subarray(-100)]
  const framed = (part: Buffer, end = ''): Buffer =>
    chunked
      ? Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from(`\r\n${end}`)])
      : part
  await Promise.race([connection.write(framed(first)), connection.waitUntilClosed()])
  return { connection, rest: framed(rest, '0\r\n\r\n') }
}

async function finish({ connection, rest }: OpenUpload): Promise<number> {
  await connection.write(rest)
  return (await connection.reply()).status
}

const newProject = async ({ client }: Person): Promise<string> =>
  (await client.post('/projects', { name: 'Quota' })).body.id
const usage = async (
  { client }: Person,
  project: string | null = null,
): Promise<{ bytes: number; reserved_bytes: number }> =>
  (await client.get(`/storage/usage${project === null ? '' : `?project_id=${project}`}`)).body
const limitOf = async ({ client }: Person, name: string): Promise<{ limit: number; used: number }> =>
  (await client.get('/user/limits')).body.limits.find((each: { name: string }) => each.name === name)

t.test('10 uploads at once hold no more than the quota on disk', async (t) => {
  for (const inProject of [true, false])
    for (const chunked of [false, true])
      for (const key of ['', 'key']) {
        // The short form has each pair of the three.
        if (!isLongForm && (inProject !== chunked) === (key !== '')) continue
        const person = await server.person()
        // An upload that may still name a project has one more place, as large as a file.
        const project = inProject ? await newProject(person) : null
        const uploads = await Promise.all(
          Array.from({ length: 10 }, (_, i) => {
            const headers = key === '' ? [] : [`idempotency-key: ${key}-${i}`]
            return begin(t, person, 4 * MB, { chunked, headers, project })
          }),
        )
        await waitUntil(() => bytesOnDisk() > 0, 'the first bytes of an upload')
        let most = 0
        for (let i = 0; i < 20; i++) {
          await sleep(25)
          most = Math.max(most, bytesOnDisk())
        }
        t.ok(most <= (inProject ? quota : 2 * quota) + 10 * unreservedBytes, `${most} bytes`)
        const statuses = await Promise.all(uploads.map(finish))
        t.equal(statuses.filter((status) => status === 201).length, 1, statuses.join())
        t.equal(statuses.filter((status) => status === 413).length, 9)
        t.match(await usage(person, project), { bytes: 4 * MB, reserved_bytes: 0 })
        await assertNothingLeft(t, server)
      }
})

t.test('uploads at once end exactly at the quota', async (t) => {
  for (const headers of [() => ({}), (i: number) => ({ 'idempotency-key': `exact-${i}` })]) {
    const person = await server.person()
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        upload(person.client, { bytes: randomBytes(MB), headers: headers(i) }),
      ),
    )
    t.equal(replies.filter(({ status }) => status === 201).length, 5)
    for (const { status, body } of replies.filter(({ status }) => status !== 201))
      t.match({ status, ...body.error }, { status: 413, details: { constraint: 'quota' } })
    t.match(await usage(person), { bytes: quota, reserved_bytes: 0 })
    const { files } = (await person.client.get('/storage/usage')).body
    t.equal(files, 5)
    await assertNothingLeft(t, server)
  }
})

t.test('an upload that is repeated with its Idempotency-Key needs no quota', async (t) => {
  const { client } = await server.person()
  const content = { bytes: randomBytes(quota), headers: { 'idempotency-key': 'full' } }
  const first = await upload(client, content)
  t.equal(first.status, 201)
  const again = await upload(client, content)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(again.text, first.text)
  t.equal((await upload(client, { ...content, bytes: randomBytes(quota) })).status, 422)
  await assertNothingLeft(t, server)
})

t.test('what an upload in progress has reserved counts as used until it ends', async (t) => {
  const person = await server.person()
  const first = await begin(t, person, 3 * MB)
  await waitUntil(async () => (await usage(person)).reserved_bytes > 0, 'the reservation')
  const { reserved_bytes: reserved } = await usage(person)
  t.ok(reserved > 3 * MB - unreservedBytes && reserved < 3 * MB)
  t.equal((await limitOf(person, 'storage_bytes')).used, reserved)
  t.equal((await limitOf(person, 'open_uploads')).used, 1)
  t.equal((await tusClient(server.url, person.key).create(3 * MB)).status, 413)
  t.equal((await upload(person.client, { bytes: randomBytes(MB) })).status, 201)
  first.connection.socket.destroy()
  await waitUntil(async () => (await usage(person)).reserved_bytes === 0, 'the end of the reservation')
  t.equal((await upload(person.client, { bytes: randomBytes(4 * MB) })).status, 201)
  t.equal((await limitOf(person, 'storage_bytes')).used, quota)
  t.equal((await limitOf(person, 'open_uploads')).used, 0)
})

t.test('an upload in chunks reserves in steps', async (t) => {
  const person = await server.person()
  const small = await begin(t, person, 200_000, { chunked: true })
  const large = await begin(t, person, 2 * MB, { chunked: true })
  await waitUntil(async () => (await usage(person)).reserved_bytes > 0, 'the reservation')
  t.equal((await usage(person)).reserved_bytes, quota, 'all that is left, at most a step')
  t.equal(await finish(large), 201)
  t.equal(await finish(small), 201)
  t.match(await usage(person), { bytes: 2 * MB + 200_000, reserved_bytes: 0 })
})

t.test('a resumable upload takes its length from the quota of other uploads', async (t) => {
  const person = await server.person()
  const tus = tusClient(server.url, person.key)
  const path = await tus.createUpload(4 * MB)
  t.match(await usage(person), { bytes: 0, reserved_bytes: 4 * MB })
  const over = await upload(person.client, { bytes: randomBytes(MB + 1) })
  t.match({ status: over.status, ...over.body.error }, { status: 413, details: { constraint: 'quota' } })
  t.equal((await upload(person.client, { bytes: randomBytes(MB) })).status, 201)
  t.equal((await tus.append(path, 0, randomBytes(4 * MB))).status, 204)
  t.match(await usage(person), { bytes: quota, reserved_bytes: 0 })
})

t.test('a project has its own quota, also when it is named after the file', async (t) => {
  const person = await server.person()
  const id = await newProject(person)
  await uploadFile(person.client, { bytes: randomBytes(quota) })
  const send = (place: 'fields' | 'fieldsAfter'): Promise<Reply> =>
    upload(person.client, { bytes: randomBytes(2 * MB), [place]: { project_id: id } })
  const places = ['fields', 'fieldsAfter', 'fields', 'fieldsAfter'] as const
  const statuses = (await Promise.all(places.map(send))).map(({ status }) => status)
  t.same(statuses.toSorted(), [201, 201, 413, 413])
  t.match(await usage(person, id), { bytes: 4 * MB, reserved_bytes: 0 })
  await assertNothingLeft(t, server)
})

t.test('the reservation of a crashed server ends by itself', async (t) => {
  const { services } = server
  const person = await server.person()
  const { storageReservation } = services.database.prisma
  const reserve = async (id: string, seconds: number): Promise<unknown> =>
    await storageReservation.create({
      data: { id, workspaceId: person.id, bytes: quota, heldUntil: new Date(Date.now() + seconds * 1000) },
    })
  await reserve('held', 30)
  t.equal((await tusClient(server.url, person.key).create(1)).status, 413)
  await storageReservation.deleteMany({ where: { id: 'held' } })
  await reserve('abandoned', -1)
  await reserve('old', -3601)
  t.equal((await upload(person.client, { bytes: randomBytes(MB) })).status, 201)
  t.equal((await deleteBatch(sql.deleteAbandonedReservations, 100)(services.database)).removed, 1)
  t.same(await storageReservation.findMany({ select: { id: true } }), [{ id: 'abandoned' }])
})

t.test('a long upload keeps its reservation', async (t) => {
  const person = await server.person()
  const long = await begin(t, person, 3 * MB)
  await waitUntil(async () => (await usage(person)).reserved_bytes > 0, 'the reservation')
  const { reserved_bytes: reserved } = await usage(person)
  await server.services.database.prisma.storageReservation.updateMany({
    where: { workspaceId: person.id },
    data: { heldUntil: new Date(0) },
  })
  await waitUntil(async () => (await usage(person)).reserved_bytes === reserved, 'the next heartbeat')
  t.equal(await finish(long), 201)
})

t.test('the number of uploads that a user sends at once is limited', async (t) => {
  const person = await server.person()
  const uploads = await Promise.all(Array.from({ length: 40 }, () => begin(t, person, 1_000)))
  await waitUntil(async () => (await limitOf(person, 'open_uploads')).used === 40, 'the uploads to begin')
  const over = await upload(person.client)
  t.match({ status: over.status, ...over.body.error }, { status: 429, details: { constraint: 'max_open' } })
  t.equal(over.headers.get('retry-after'), '10')
  t.equal((await upload((await server.person()).client)).status, 201, 'another user is not concerned')
  uploads[0].connection.socket.destroy()
  t.same(await Promise.all(uploads.slice(1).map(finish)), Array(39).fill(201))
  await waitUntil(async () => (await limitOf(person, 'open_uploads')).used === 0, 'the uploads to end')
})

t.test('a user sends only a few large avatars at once', async (t) => {
  const { key, client } = await server.person()
  const boundary = 'B'
  const connections: RawConnection[] = []
  for (let i = 0; i < 5; i++) {
    const connection = await openConnection(t, server.url)
    await connection.write(
      [
        'POST /v1/user/avatar HTTP/1.1',
        'host: localhost',
        `authorization: Bearer ${key}`,
        `content-type: multipart/form-data; boundary=${boundary}`,
        `content-length: ${5 * 1024 * 1024}`,
        '',
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\nbytes`,
      ].join('\r\n'),
    )
    connections.push(connection)
  }
  await waitUntil(() => connections.some(({ received }) => received() !== ''), 'a response')
  const replies = connections.filter(({ received }) => received() !== '')
  t.equal(replies.length, 1)
  t.match(await replies[0].reply(), { status: 429, body: { error: { details: { constraint: 'max_open' } } } })
  for (const { socket } of connections) socket.destroy()
  t.equal((await client.get('/storage/usage')).body.reserved_bytes, 0)
})
