// Random operations on folders and files by eight clients at once, compared with trees in memory: each client
// has a folder of its own, so its tree is known. The server is killed while operations are in flight: an
// operation without an answer has happened completely or not at all. `npm run faults -- drive-model` does
// 10,000 operations and kills the server 20 times.
import { hash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase, type Database } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import * as sql from '../../generated/sql/storage.ts'
import { verifyStore } from '../../services/storage/verify.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createClient, type Client, type Reply } from '../support/http/client.ts'
import { isLongForm } from '../support/long-form.ts'
import { bootstrapKey as key, spawnServer, type ServerProcess } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { ageQuarantine, download, sweepStore, upload, uploadForm } from '../support/storage/storage.ts'

const clients = 8
/** Operations between two comparisons. */
const perRound = 100
const rounds = isLongForm ? 100 : 3
/** The server is killed in one of so many rounds. */
const roundsPerKill = isLongForm ? 5 : 2
const maxVersions = 3
const seed = Number(process.env['DRIVE_SEED'] ?? Date.now() % 1_000_000)

interface FolderNode {
  id: string
  name: string
  parent: string | null
}

/** A file with its content, and its versions by number. */
interface FileNode {
  id: string
  name: string
  /** The folder. */
  parent: string
  content: string
  number: number
  versions: Map<number, string>
}

interface TrashedFile extends FileNode {
  path: string
}

interface Tree {
  folders: Map<string, FolderNode>
  files: Map<string, FileNode>
  trash: Map<string, TrashedFile>
}

/** A request, and what it does to the tree. */
interface Operation {
  title: string
  status: number
  send(client: Client): Promise<Reply>
  /** @param body null when the answer is not known. New ids begin with `?` then. */
  apply(tree: Tree, body: any): void
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

function pathOf(tree: Tree, id: string | null): string {
  const node = id === null ? undefined : tree.folders.get(id)
  if (node === undefined) return ''
  const above = pathOf(tree, node.parent)
  return above === '' ? node.name : `${above}/${node.name}`
}

function isIn(tree: Tree, id: string, above: string): boolean {
  for (let at: string | null = id; at !== null; at = tree.folders.get(at)!.parent)
    if (at === above) return true
  return false
}

function childOf(tree: Tree, parent: string | null, name: string): FolderNode | undefined {
  return [...tree.folders.values()].find((each) => each.parent === parent && each.name === name)
}

/** The folder of the path. Missing ones get ids that begin with `?`, until the next comparison. */
function ensureFolder(tree: Tree, path: string): string {
  let parent: string | null = null
  for (const name of path.split('/')) {
    const found = childOf(tree, parent, name)
    const id: string = found?.id ?? `?${tree.folders.size} ${path}`
    if (found === undefined) tree.folders.set(id, { id, name, parent })
    parent = id
  }
  return parent!
}

function discard(tree: Tree, id: string): void {
  const file = tree.files.get(id)!
  tree.trash.set(id, { ...file, path: pathOf(tree, file.parent) })
  tree.files.delete(id)
}

function bringBack(tree: Tree, id: string): void {
  const { path, ...file } = tree.trash.get(id)!
  tree.files.set(id, { ...file, parent: ensureFolder(tree, path) })
  tree.trash.delete(id)
}

class Drive {
  tree: Tree
  /** The operation without an answer. */
  inFlight: Operation | null = null
  readonly top: FolderNode
  #contents = 0
  readonly #random: () => number

  constructor(top: FolderNode, random: () => number) {
    this.top = top
    this.tree = { folders: new Map([[top.id, top]]), files: new Map(), trash: new Map() }
    this.#random = random
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #any<T>(items: Iterable<T>): T | undefined {
    const all = [...items]
    return all[this.#below(all.length)]
  }

  #some<T>(items: Iterable<T>): T[] {
    const all = [...items]
    return all.filter(() => this.#random() < 4 / all.length)
  }

  #newContent(): string {
    return `${this.top.id} ${++this.#contents}`
  }

  /** The next operation. It names only folders whose ids are known. */
  plan(): Operation {
    for (;;) {
      const planned = this.#tryPlan()
      if (planned !== null) return planned
    }
  }

  #tryPlan(): Operation | null {
    const { tree } = this
    const known = [...tree.folders.values()].filter(({ id }) => !id.startsWith('?'))
    const folder = this.#any(known)!
    const target = this.#any(known)!
    const file = this.#any([...tree.files.values()].filter(({ parent }) => !parent.startsWith('?')))
    const trashed = this.#any(tree.trash.values())
    const name = `n${this.#below(6)}`
    const kind = this.#below(18)
    if (kind < 2) return this.#createFolder(folder, name)
    if (kind < 5) return this.#upload(folder, name)
    if (kind < 7) return folder.id === this.top.id ? null : this.#changeFolder(folder, target, name)
    if (kind < 8) return folder.id === this.top.id ? null : this.#deleteFolder(folder)
    if (kind < 9) return trashed === undefined ? null : this.#restore(trashed)
    if (kind < 10) return trashed === undefined ? null : this.#deleteForever(trashed)
    if (kind < 12) return this.#batch(target)
    if (file === undefined) return null
    if (kind < 13) return this.#move(file, target)
    if (kind < 14) return this.#copy(file, target)
    if (kind < 15) return this.#trash(file)
    return this.#changeContent(file)
  }

  #createFolder({ id: parent }: FolderNode, name: string): Operation {
    const isTaken = childOf(this.tree, parent, name) !== undefined
    return {
      title: `create folder ${name} in ${parent}`,
      status: isTaken ? 409 : 201,
      send: (client) => client.post('/storage/folders', { name, parent_id: parent }),
      apply(tree, body) {
        const id = body?.id ?? '?new'
        if (!isTaken) tree.folders.set(id, { id, name, parent })
      },
    }
  }

  #upload({ id: parent }: FolderNode, name: string): Operation {
    const content = this.#newContent()
    return {
      title: `upload ${name} to ${parent}`,
      status: 201,
      send: (client) => upload(client, { name, bytes: content, fields: { folder_id: parent } }),
      apply(tree, body) {
        const id = body?.id ?? '?new'
        tree.files.set(id, { id, name, parent, content, number: 1, versions: new Map() })
      },
    }
  }

  #changeFolder({ id, ...before }: FolderNode, { id: parent }: FolderNode, name: string): Operation {
    const taken = childOf(this.tree, parent, name)
    const isSame = before.parent === parent && before.name === name
    const isRefused = !isSame && (isIn(this.tree, parent, id) || (taken !== undefined && taken.id !== id))
    return {
      title: `folder ${id} becomes ${name} in ${parent}`,
      status: isRefused ? 409 : 200,
      send: (client) => client.put(`/storage/folders/${id}`, { name, parent_id: parent }),
      apply(tree) {
        if (!isRefused) Object.assign(tree.folders.get(id)!, { name, parent })
      },
    }
  }

  #deleteFolder({ id }: FolderNode): Operation {
    return {
      title: `delete folder ${id}`,
      status: 202,
      send: (client) => client.delete(`/storage/folders/${id}`),
      apply(tree) {
        const gone = [...tree.folders.keys()].filter((each) => isIn(tree, each, id))
        for (const each of tree.files.values()) if (gone.includes(each.parent)) discard(tree, each.id)
        for (const each of gone) tree.folders.delete(each)
      },
    }
  }

  /** The files of a folder are not in the trash before the job has come to them. */
  #restore({ id }: TrashedFile): Operation | null {
    if (this.isInJob(id)) return null
    return {
      title: `restore ${id}`,
      status: 200,
      send: (client) => client.post(`/storage/trash/${id}/restore`, {}),
      apply: (tree) => bringBack(tree, id),
    }
  }

  #deleteForever({ id }: TrashedFile): Operation | null {
    if (this.isInJob(id)) return null
    return {
      title: `delete ${id} forever`,
      status: 204,
      send: (client) => client.delete(`/storage/trash/${id}`),
      apply: (tree) => void tree.trash.delete(id),
    }
  }

  /** The files of folders that were deleted since the last comparison. */
  readonly jobFiles = new Set<string>()

  isInJob(id: string): boolean {
    return this.jobFiles.has(id)
  }

  #batch({ id: parent }: FolderNode): Operation | null {
    const action = this.#any(['move', 'trash', 'restore', 'delete'])!
    const { files, trash } = this.tree
    const trashed = [...trash.keys()].filter((id) => !this.isInJob(id))
    const ids = this.#some(
      action === 'restore' ? trashed : action === 'delete' ? [...files.keys(), ...trashed] : files.keys(),
    )
    if (ids.length === 0) return null
    return {
      title: `${action} ${ids.join(' ')}`,
      status: 200,
      async send(client) {
        const fields = action === 'move' ? { folder_id: parent } : {}
        const reply = await client.post('/storage/batch', { action, ids, ...fields })
        const refused = reply.body.data?.find(({ status }: any) => status !== 200)
        return refused === undefined ? reply : { ...reply, status: refused.status }
      },
      apply(tree) {
        for (const id of ids)
          if (action === 'move') tree.files.get(id)!.parent = parent
          else if (action === 'trash') discard(tree, id)
          else if (action === 'restore') bringBack(tree, id)
          else if (!tree.files.delete(id)) tree.trash.delete(id)
      },
    }
  }

  #move({ id }: FileNode, { id: parent }: FolderNode): Operation {
    return {
      title: `move ${id} to ${parent}`,
      status: 200,
      send: (client) => client.post(`/storage/files/${id}/move`, { folder_id: parent }),
      apply: (tree) => void (tree.files.get(id)!.parent = parent),
    }
  }

  #copy({ id: source, name, content }: FileNode, { id: parent }: FolderNode): Operation {
    return {
      title: `copy ${source} to ${parent}`,
      status: 201,
      send: (client) => client.post(`/storage/files/${source}/copy`, { folder_id: parent }),
      apply(tree, body) {
        const id = body?.id ?? '?new'
        tree.files.set(id, { id, name, parent, content, number: 1, versions: new Map() })
      },
    }
  }

  #trash({ id }: FileNode): Operation {
    return {
      title: `trash ${id}`,
      status: 204,
      send: (client) => client.delete(`/storage/files/${id}`),
      apply: (tree) => discard(tree, id),
    }
  }

  /** Replaces the content of a file, or restores or deletes one of its versions. */
  #changeContent({ id, versions }: FileNode): Operation {
    const path = `/storage/files/${id}`
    const number = this.#any(versions.keys())
    const action = number === undefined ? 0 : this.#below(4)
    const replace = (tree: Tree, content: string): void => {
      const file = tree.files.get(id)!
      file.versions.set(file.number++, file.content)
      for (const oldest of [...file.versions.keys()].slice(0, -maxVersions)) file.versions.delete(oldest)
      file.content = content
    }
    if (action < 2) {
      const content = this.#newContent()
      const { body, headers } = uploadForm({ bytes: content })
      return {
        title: `replace the content of ${id}`,
        status: 200,
        send: (client) => client.call('PUT', `${path}/content`, { raw: body, headers }),
        apply: (tree) => replace(tree, content),
      }
    }
    const former = versions.get(number!)!
    const versionPath = async (client: Client): Promise<string> => {
      const { data } = (await client.get(`${path}/versions`)).body
      return `${path}/versions/${data.find((each: any) => each.number === number).id}`
    }
    return {
      title: `${action === 2 ? 'restore' : 'delete'} version ${number} of ${id}`,
      status: action === 2 ? 200 : 204,
      async send(client) {
        const version = await versionPath(client)
        return action === 2 ? await client.post(`${version}/restore`, {}) : await client.delete(version)
      },
      apply(tree) {
        tree.files.get(id)!.versions.delete(number!)
        if (action === 2) replace(tree, former)
      },
    }
  }
}

/** What the server has of one drive, or the model of it, as sorted lines. */
type State = string[]

/** The versions of a file by number, as SHA-256. */
type Versions = Map<string, Array<[number, string]>>

function stateOf(tree: Tree): State {
  const line = (file: FileNode, path: string): string =>
    lineOf(
      { ...file, path, sha256: hash('sha256', file.content) },
      [...file.versions].map(([number, content]) => [number, hash('sha256', content)]),
    )
  return [
    ...[...tree.folders.keys()].map((id) => `folder ${id} ${pathOf(tree, id)}`),
    ...[...tree.files.values()].map((file) => `file ${line(file, pathOf(tree, file.parent))}`),
    ...[...tree.trash.values()].map((file) => `trash ${line(file, file.path)}`),
  ].toSorted()
}

function lineOf(
  { id, path, name, sha256 }: Record<'id' | 'path' | 'name' | 'sha256', string>,
  versions: Array<[number, string]>,
): string {
  return [id, path, name, sha256, ...versions.map(([number, sha]) => `${number}=${sha}`)].join(' ')
}

/** Everything that the server has. */
interface Listing {
  folders: any[]
  files: any[]
  trash: any[]
  versions: Versions
}

const listVersions = statement<{ file_id: string; number: number; sha256: string }>(
  'SELECT file_id, number, sha256 FROM file_versions ORDER BY file_id, number',
)

async function listAll(client: Client, db: Database): Promise<Listing> {
  const versions: Versions = new Map()
  for (const { file_id: id, number, sha256 } of await db.sql(listVersions, []))
    versions.set(id, [...(versions.get(id) ?? []), [number, sha256]])
  return {
    folders: await all(client, '/storage/folders?parent_id=*&'),
    files: await all(client, '/storage/files?'),
    trash: await all(client, '/storage/trash?'),
    versions,
  }
}

async function all(client: Client, path: string): Promise<any[]> {
  const found: any[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body }: any = await client.get(`${path}limit=100${cursor && `&cursor=${cursor}`}`)
    found.push(...body.data)
    cursor = body.pagination.next_cursor
  }
  return found
}

function listingOf({ top }: Drive, { folders, files, trash, versions }: Listing): Listing {
  const isHere = ({ path }: { path: string }): boolean => path === top.name || path.startsWith(`${top.name}/`)
  const [own, ownFiles, ownTrash] = [folders, files, trash].map((items) => items.filter(isHere))
  return { folders: own, files: ownFiles, trash: ownTrash, versions }
}

function stateOfListing({ folders, files, trash, versions }: Listing): State {
  const line = (file: any): string => lineOf(file, versions.get(file.id) ?? [])
  return [
    ...folders.map(({ id, path }) => `folder ${id} ${path}`),
    ...files.map((file) => `file ${line(file)}`),
    ...trash.map((file) => `trash ${line(file)}`),
  ].toSorted()
}

/** Gives folders and a file whose ids were not known those that the server has. */
function learnIds(tree: Tree, { folders, files }: Listing): void {
  for (const id of [...tree.folders.keys()].filter((each) => each.startsWith('?'))) {
    const path = pathOf(tree, id)
    const found = folders.find((each) => each.path === path)
    if (found === undefined) continue
    tree.folders.set(found.id, { ...tree.folders.get(id)!, id: found.id })
    tree.folders.delete(id)
    for (const each of [...tree.folders.values(), ...tree.files.values()])
      if (each.parent === id) each.parent = found.id
  }
  const added = tree.files.get('?new')
  const unknown = files.filter(({ id }) => !tree.files.has(id))
  if (added === undefined || unknown.length !== 1) return
  tree.files.set(unknown[0].id, { ...added, id: unknown[0].id })
  tree.files.delete('?new')
}

function isSame(a: State, b: State): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index])
}

/** Compares the drive with what the server has. An operation without an answer may have happened. */
function compare(t: Test, drive: Drive, all: Listing): 'happened' | 'not happened' | null {
  const listing = listingOf(drive, all)
  const actual = stateOfListing(listing)
  const { inFlight } = drive
  const candidates = [drive.tree]
  if (inFlight !== null) {
    const after = structuredClone(drive.tree)
    inFlight.apply(after, null)
    candidates.push(after)
  }
  for (const tree of candidates) learnIds(tree, listing)
  drive.inFlight = null
  drive.jobFiles.clear()
  const found = candidates.find((tree) => isSame(stateOf(tree), actual))
  if (found === undefined) {
    t.same(actual, stateOf(drive.tree), `${drive.top.name}; in flight: ${inFlight?.title ?? 'nothing'}`)
    throw new Error('the server has another tree than the model')
  }
  drive.tree = found
  return inFlight === null ? null : found === candidates[0] ? 'not happened' : 'happened'
}

const endClaims = statement(
  `UPDATE jobs SET due_at = now() WHERE queue = 'tracked_jobs' AND fetches > 0 AND due_at > now()`,
)

t.test(`the drive is that of the model (seed ${seed})`, { timeout: 2_000_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const storageDir = await mkdtemp(join(tmpdir(), 'platform-drive-'))
  t.teardown(() => rm(storageDir, { recursive: true, force: true }))
  const db = openDatabase({ url: databaseUrl, poolSize: 1 })
  t.teardown(() => db.close())
  const env = { STORAGE_DIR: storageDir, STORAGE_VERSIONS: String(maxVersions) }
  const start = (): Promise<ServerProcess> => spawnServer(t, { DATABASE_URL: databaseUrl, ...env })
  let server = await start()
  let client = createClient(server.url, key)
  const drives: Drive[] = []
  for (let i = 0; i < clients; i++) {
    const { body } = await client.post('/storage/folders', { name: `client ${i}` })
    drives.push(new Drive({ id: body.id, name: body.name, parent: null }, randomOf(seed + i)))
  }
  const counts = { operations: 0, kills: 0, happened: 0, 'not happened': 0 }
  const random = randomOf(seed - 1)

  for (let round = 1; round <= rounds; round++) {
    const end = counts.operations + perRound
    const killAt = round % roundsPerKill === 0 ? end - Math.floor((random() * perRound) / 2) : Infinity
    let isKilled = false
    const use = async (drive: Drive): Promise<void> => {
      while (counts.operations < end && !isKilled) {
        const operation = drive.plan()
        drive.inFlight = operation
        if (++counts.operations === killAt) {
          isKilled = true
          server.child.kill('SIGKILL')
        }
        const reply = await operation.send(client).catch((error) => {
          if (!isKilled) throw error
          return null
        })
        if (reply === null) return
        if (reply.status !== operation.status) t.equal(reply.status, operation.status, operation.title)
        const before = new Set(drive.tree.trash.keys())
        operation.apply(drive.tree, reply.body)
        if (reply.status === 202)
          for (const id of drive.tree.trash.keys()) if (!before.has(id)) drive.jobFiles.add(id)
        drive.inFlight = null
      }
    }
    await Promise.all(drives.map(use))
    if (isKilled) {
      counts.kills++
      await server.end('SIGKILL')
      await db.sql(endClaims, [])
      server = await start()
      client = createClient(server.url, key)
    }
    const isIdle = async () => (await all(client, '/jobs?status=queued&status=running&')).length === 0
    await waitUntil(isIdle, 'the end of all jobs', 120_000)
    const listing = await listAll(client, db)
    for (const drive of drives) {
      const outcome = compare(t, drive, listing)
      if (outcome !== null) counts[outcome]++
    }
  }
  t.equal(counts.kills, Math.floor(rounds / roundsPerKill))
  await server.end('SIGTERM')
  await assertNothingLost(t, { databaseUrl, env, drives, storageDir })
  t.comment(JSON.stringify({ seed, ...counts }))
})

interface End {
  databaseUrl: string
  env: Record<string, string>
  drives: Drive[]
  storageDir: string
}

/** Every content can be read, the usage is exact, and after a sweep the store has what the rows name. */
async function assertNothingLost(t: Test, { databaseUrl, env, drives, storageDir }: End): Promise<void> {
  const server = await startServer(t, { databaseUrl, env })
  const { services, url } = server
  const wrong: string[] = []
  const contents = new Set<string>()
  for (const { tree } of drives) {
    for (const { id, content } of tree.files.values()) {
      const { bytes } = await download(url, `/storage/files/${id}/download`, { key })
      if (bytes.toString() !== content) wrong.push(id)
    }
    for (const file of [...tree.files.values(), ...tree.trash.values()])
      for (const content of [file.content, ...file.versions.values()]) contents.add(content)
  }
  t.same(wrong, [], 'every file has its content')
  t.same(await sql.listWrongUsage(services.database), [], 'the usage is exact')
  const { body } = await createClient(url, key).get('/storage/usage')
  const sum = (count: (tree: Tree) => number): number => drives.reduce((n, { tree }) => n + count(tree), 0)
  t.match(body, {
    files: sum(({ files }) => files.size),
    trash: { files: sum(({ trash }) => trash.size) },
  })

  const before = new Date(Date.now() + 1_000)
  await sweepStore(services, { before })
  await ageQuarantine(services, services.config.storageQuarantineDays)
  await sweepStore(services, { before })
  t.equal(await sweepStore(services, { before }), 0, 'the sweep finds nothing more')
  const { blobs, quarantined, differences } = await verifyStore(
    services.database,
    await services.storage.blobStore(),
    {
      hash: true,
    },
  )
  t.same(
    differences,
    { missing: 0, unknown: 0, wrong_size: 0, wrong_hash: 0 },
    'no blob is lost or left over',
  )
  t.equal(quarantined, 0)
  t.equal(blobs, contents.size, 'a blob for each content')
  t.same(await readdir(join(storageDir, 'incoming')), [], 'no temporary file is left')
}
