// Random operations on folders and files by several clients at once, compared with a tree in memory: each
// client has a folder of its own, so its tree is known. Workers are stopped and started meanwhile. `npm run
// faults` does thousands of operations.
import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { createTrackedJobWorker } from '../../services/jobs/worker.ts'
import { storageJobs } from '../../services/storage/storage-jobs.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { download, uploadFile, uploadForm } from '../support/storage/storage.ts'

const operations = isLongForm ? 3_000 : 60
const clients = 3
const maxVersions = 3
const seed = Number(process.env['DRIVE_SEED'] ?? Date.now() % 1_000_000)

interface Node {
  id: string
  name: string
  parent: string | null
}

/** A file with its content, and its versions by number. */
interface FileNode extends Node {
  content: string
  number: number
  versions: Map<number, string>
}

/** Numbers from 0 to below 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}

const limits = { RATE_LIMIT_WRITE: '1000000', RATE_LIMIT_DEFAULT: '1000000', RATE_LIMIT_UPLOAD: '1000000' }
const server = await startServer(t, { env: { ...limits, STORAGE_VERSIONS: String(maxVersions) } })
const { services } = server
const person = await server.person()
const { client } = person

/** A worker that is replaced from time to time, in the middle of its jobs. */
function startWorkers(t: Test): { replace(): Promise<void> } {
  const { database, trackedJobs, events } = services
  const onError = (error: Error): void => void t.fail(error.message, { cause: error.cause })
  const start = () => {
    const kinds = storageJobs(services)
    const worker = createTrackedJobWorker({ database, trackedJobs, events, kinds, onError, interval: 20 })
    worker.start()
    return worker
  }
  let worker = start()
  t.teardown(() => worker.stop())
  return {
    async replace() {
      const former = worker
      worker = start()
      await former.stop()
    },
  }
}

class Drive {
  readonly folders = new Map<string, Node>()
  readonly files = new Map<string, FileNode>()
  readonly trash = new Map<string, { name: string; path: string }>()
  #contents = 0
  readonly #random: () => number
  readonly #top: string

  constructor(top: Node, random: () => number) {
    this.folders.set(top.id, top)
    this.#top = top.id
    this.#random = random
  }

  pathOf(id: string | null): string {
    const node = id === null ? undefined : this.folders.get(id)
    if (node === undefined) return ''
    const above = this.pathOf(node.parent)
    return above === '' ? node.name : `${above}/${node.name}`
  }

  #any<T>(items: Iterable<T>): T | undefined {
    const all = [...items]
    return all[Math.floor(this.#random() * all.length)]
  }

  isIn(id: string, above: string): boolean {
    for (let at: string | null = id; at !== null; at = this.folders.get(at)!.parent)
      if (at === above) return true
    return false
  }

  #isTaken(parent: string, name: string, besides?: string): boolean {
    return [...this.folders.values()].some(
      (each) => each.parent === parent && each.name === name && each.id !== besides,
    )
  }

  #newContent(): string {
    return `${this.#top} ${++this.#contents}`
  }

  /** Replaces the content of a file, or restores or deletes one of its versions. */
  async #changeContent(t: Test, file: FileNode): Promise<void> {
    const content = this.#newContent()
    const number = this.#any(file.versions.keys())
    const action = number === undefined ? 0 : Math.floor(this.#random() * 4)
    if (action < 2) {
      const { body, headers } = uploadForm({ bytes: content })
      const reply = await client.call('PUT', `/storage/files/${file.id}/content`, { raw: body, headers })
      t.equal(reply.status, 200, reply.text)
      file.versions.set(file.number++, file.content)
      for (const oldest of [...file.versions.keys()].slice(0, -maxVersions)) file.versions.delete(oldest)
      file.content = content
      return
    }
    const path = `/storage/files/${file.id}/versions`
    const { id } = (await all(`${path}?`)).find((version) => version.number === number)
    const former = file.versions.get(number!)!
    file.versions.delete(number!)
    if (action === 2) {
      t.equal((await client.post(`${path}/${id}/restore`, {})).status, 200)
      file.versions.set(file.number++, file.content)
      file.content = former
    } else t.equal((await client.delete(`${path}/${id}`)).status, 204)
  }

  async step(t: Test): Promise<void> {
    const folder = this.#any(this.folders.values())!
    const file = this.#any(this.files.values())
    const name = `n${Math.floor(this.#random() * 6)}`
    const kind = Math.floor(this.#random() * 12)
    if (kind < 2) {
      const reply = await client.post('/storage/folders', { name, parent_id: folder.id })
      t.equal(reply.status, this.#isTaken(folder.id, name) ? 409 : 201, reply.text)
      if (reply.status === 201)
        this.folders.set(reply.body.id, { id: reply.body.id, name, parent: folder.id })
    } else if (kind < 5) {
      const content = this.#newContent()
      const added = await uploadFile(client, { name, bytes: content, fields: { folder_id: folder.id } })
      t.equal(added.path, this.pathOf(folder.id))
      const node = { id: added.id, name, parent: folder.id, content, number: 1, versions: new Map() }
      this.files.set(added.id, node)
    } else if (kind < 7) {
      if (folder.id === this.#top) return
      const parent = this.#any(this.folders.values())!
      const isSame = folder.parent === parent.id && folder.name === name
      const isRefused =
        !isSame && (this.isIn(parent.id, folder.id) || this.#isTaken(parent.id, name, folder.id))
      const reply = await client.put(`/storage/folders/${folder.id}`, { name, parent_id: parent.id })
      t.equal(reply.status, isRefused ? 409 : 200, reply.text)
      if (!isRefused) Object.assign(folder, { name, parent: parent.id })
    } else if (kind < 8) {
      if (file === undefined) return
      const reply = await client.put(`/storage/files/${file.id}`, { folder_id: folder.id })
      t.equal(reply.status, 200, reply.text)
      file.parent = folder.id
    } else if (kind < 9) {
      if (file === undefined) return
      t.equal((await client.delete(`/storage/files/${file.id}`)).status, 204)
      this.trash.set(file.id, { name: file.name, path: this.pathOf(file.parent) })
      this.files.delete(file.id)
    } else if (kind < 11) {
      if (file !== undefined) await this.#changeContent(t, file)
    } else {
      if (folder.id === this.#top) return
      const reply = await client.delete(`/storage/folders/${folder.id}`)
      const gone = [...this.folders.keys()].filter((id) => this.isIn(id, folder.id))
      const files = [...this.files.values()].filter(({ parent }) => gone.includes(parent!))
      t.match(reply, { status: 202, body: { total: files.length } }, reply.text)
      for (const each of files) this.trash.set(each.id, { name: each.name, path: this.pathOf(each.parent) })
      for (const { id } of files) this.files.delete(id)
      for (const id of gone) this.folders.delete(id)
    }
  }
}

/** The present content and the versions of a file, as the server has them. */
async function contentsOf({ id }: FileNode): Promise<unknown> {
  const { bytes } = await download(server.url, `/storage/files/${id}/download`, { key: person.key })
  const versions = await all(`/storage/files/${id}/versions?order=asc&`)
  return [bytes.toString(), versions.map(({ number, sha256 }) => [number, sha256])]
}

async function all(path: string): Promise<any[]> {
  const found: any[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body }: any = await client.get(`${path}limit=100${cursor && `&cursor=${cursor}`}`)
    found.push(...body.data)
    cursor = body.pagination.next_cursor
  }
  return found
}

async function assertSame(t: Test, drives: Drive[]): Promise<void> {
  const isDone = async () => (await all('/jobs?status=queued&status=running&')).length === 0
  await waitUntil(isDone, 'the end of all jobs', 120_000)
  const lines = (items: Array<{ id: string; name: string; path: string }>): string[] =>
    items.map(({ id, name, path }) => `${id} ${path} ${name}`).toSorted()
  const files = drives.flatMap((drive) =>
    [...drive.files.values()].map((file) => ({ ...file, path: drive.pathOf(file.parent) })),
  )
  const folders = drives.flatMap((drive) =>
    [...drive.folders.values()].map((folder) => ({ ...folder, path: drive.pathOf(folder.id) })),
  )
  const trash = drives.flatMap((drive) => [...drive.trash].map(([id, file]) => ({ id, ...file })))
  t.same(lines(await all('/storage/folders?parent_id=*&')), lines(folders), 'the folders')
  t.same(lines(await all('/storage/files?')), lines(files), 'the files')
  t.same(lines(await all('/storage/trash?')), lines(trash), 'the trash')
  for (const file of drives.flatMap((drive) => [...drive.files.values()])) {
    const versions = [...file.versions].map(([number, content]) => [number, hash('sha256', content)])
    t.same(await contentsOf(file), [file.content, versions], 'the content and the versions')
  }
  const { body } = await client.get('/storage/usage')
  t.match(body, { files: files.length, trash: { files: trash.length } })
  t.equal((await client.get('/storage/files?limit=1')).body.pagination.total, files.length)
}

t.test(`random operations leave the tree of the model (seed ${seed})`, { timeout: 2_000_000 }, async (t) => {
  const workers = startWorkers(t)
  const drives: Drive[] = []
  for (let i = 0; i < clients; i++) {
    const { body } = await client.post('/storage/folders', { name: `client ${i}` })
    drives.push(new Drive({ id: body.id, name: body.name, parent: null }, randomOf(seed + i)))
  }
  for (let done = 0; done < operations; done += 30) {
    await Promise.all(
      drives.map(async (drive) => {
        for (let i = 0; i < 10; i++) await drive.step(t)
      }),
    )
    await workers.replace()
    if ((done + 30) % 90 === 0 || done + 30 >= operations) await assertSame(t, drives)
  }
})
