// What is done with selected items. Each action returns the items that it could not change, and why.
import { call, downloadLarge, failureOf } from '../../session.ts'
import { follow, toast } from './activity.ts'
import { changed, type Item, type Place } from './place.ts'

export interface Refused {
  name: string
  message: string
}

const maxBatch = 1000

const filesOf = (items: Item[]): Item[] => items.filter(({ kind }) => kind === 'file')
const foldersOf = (items: Item[]): Item[] => items.filter(({ kind }) => kind === 'folder')

/** `reports`, or `3 items`. */
export const namesOf = (items: Item[]): string =>
  items.length === 1 ? items[0].name : `${items.length.toLocaleString()} items`

const maxDocuments = 100

/**
 * Makes a knowledge base of files, with those in folders, and a chat that answers from it.
 * @returns the path of the chat; null if there is none.
 */
export async function askItems(items: Item[], projectId: string | null): Promise<[string | null, Refused[]]> {
  const project = projectId === null ? {} : { project_id: projectId }
  const inside = await Promise.all(
    foldersOf(items).map(async ({ data }) => {
      const query = { ...project, path: data.path, limit: maxDocuments }
      return (await call('listFiles', { query })).data.data as any[]
    }),
  )
  const files = [...filesOf(items).map(({ data }) => data), ...inside.flat()].slice(0, maxDocuments)
  if (files.length === 0) return [null, [{ name: namesOf(items), message: 'There are no files.' }]]
  const name = namesOf(items).slice(0, 100)
  const base = (await call('createKnowledgeBase', { body: { name, ...project } })).data
  const documents = files.map(({ id }) => ({ file_id: id }))
  const results = (await call('createDocuments', { path: { id: base.id }, body: { documents } })).data.data
  const session = await call('createSession', {
    body: { title: `About ${name}`, knowledge_base_ids: [base.id], ...project },
  })
  const refused = (results as any[]).flatMap(({ error }, i) =>
    error === null ? [] : [{ name: files[i].name, message: error.message }],
  )
  return [`/ai/sessions/${session.data.id}`, refused]
}

interface Done {
  refused: Refused[]
  done: Item[]
}

/** One action with many files, of which each may be refused. */
async function batch(action: string, files: Item[], fields: object = {}): Promise<Done> {
  const [refused, done]: [Refused[], Item[]] = [[], []]
  for (let i = 0; i < files.length; i += maxBatch) {
    const some = files.slice(i, i + maxBatch)
    try {
      const body = { action, ids: some.map(({ id }) => id), ...fields }
      const results = (await call('batchFiles', { body })).data.data as any[]
      for (const [k, { error }] of results.entries())
        if (error === null) done.push(some[k])
        else refused.push({ name: some[k].name, message: error.message })
    } catch (error) {
      const { message } = failureOf(error)
      refused.push(...some.map(({ name }) => ({ name, message })))
    }
  }
  return { refused, done }
}

/** One request for each item, one after the other. */
async function each(items: Item[], work: (item: Item) => Promise<unknown>): Promise<Done> {
  const [refused, done]: [Refused[], Item[]] = [[], []]
  for (const item of items)
    try {
      await work(item)
      done.push(item)
    } catch (error) {
      refused.push({ name: item.name, message: failureOf(error).message })
    }
  return { refused, done }
}

export async function moveItems(items: Item[], folderId: string | null): Promise<Refused[]> {
  const folders = await each(
    foldersOf(items).filter(({ id }) => id !== folderId),
    async ({ id }) => await call('updateFolder', { path: { id }, body: { parent_id: folderId } }),
  )
  const files = await batch('move', filesOf(items), { folder_id: folderId })
  const done = [...folders.done, ...files.done]
  changed('folders', 'files')
  if (done.length > 0) toast(`Moved ${namesOf(done)}`, undoOfMove(done))
  return [...folders.refused, ...files.refused]
}

function undoOfMove(items: Item[]): () => Promise<void> {
  return async () => {
    const parents = Map.groupBy(items, ({ kind, data }) =>
      kind === 'folder' ? data.parent_id : data.folder_id,
    )
    for (const [parent, some] of parents) {
      const { refused } = await each(foldersOf(some), async ({ id }) =>
        call('updateFolder', { path: { id }, body: { parent_id: parent } }),
      )
      const { refused: others } = await batch('move', filesOf(some), { folder_id: parent })
      report([...refused, ...others])
    }
    changed('folders', 'files')
  }
}

/** Files go to the trash; a job deletes folders. */
export async function trashItems(items: Item[], canRestore: boolean): Promise<Refused[]> {
  const { refused, done } = await batch('trash', filesOf(items))
  const folders = await each(foldersOf(items), async ({ id, name }) => {
    follow(`Deleting ${name}`, (await call('deleteFolder', { path: { id } })).data)
  })
  changed(...(folders.done.length > 0 ? (['folders', 'files'] as const) : (['files'] as const)))
  if (done.length > 0)
    toast(
      `Moved ${namesOf(done)} to the trash`,
      canRestore ? async () => report(await restoreItems(done)) : null,
    )
  return [...refused, ...folders.refused]
}

export async function restoreItems(items: Item[]): Promise<Refused[]> {
  const { refused, done } = await batch('restore', items)
  // The folders of a restored file are created if they are gone.
  changed('folders', 'files')
  if (done.length > 0) toast(`Restored ${namesOf(done)}`)
  return refused
}

export async function deleteForever(items: Item[]): Promise<Refused[]> {
  const { refused, done } = await batch('delete', items)
  changed('files')
  if (done.length > 0) toast(`Deleted ${namesOf(done)} permanently`)
  return refused
}

export async function tagItems(items: Item[], tags: string[]): Promise<Refused[]> {
  const { refused } = await batch('tag', filesOf(items), { tags })
  changed('files')
  return refused
}

/** Two files with one name are confusing: the API refuses a name that is taken. @throws PlatformError */
export async function renameItem({ id, kind }: Item, name: string): Promise<void> {
  if (kind === 'folder') await call('updateFolder', { path: { id }, body: { name } })
  else await call('updateFile', { path: { id }, body: { name, on_conflict: 'fail' } })
  changed(...(kind === 'folder' ? (['folders', 'files'] as const) : (['files'] as const)))
}

/** One ZIP for the files, and one for each folder. A single file comes as it is. */
export async function downloadItems(items: Item[], { projectId }: Place): Promise<Refused[]> {
  const [files, folders] = [filesOf(items), foldersOf(items)]
  const project = { ...(projectId !== null && { project_id: projectId }) }
  const zip = async (body: object): Promise<void> => {
    const { data } = await call('createArchive', { body })
    await downloadLarge('downloadArchive', { id: data.id })
  }
  const done = await each(
    folders,
    async ({ id, name }) => await zip({ folder_id: id, name: `${name}.zip`.slice(-255) }),
  )
  if (files.length === 1)
    done.refused.push(
      ...(await each(files, async ({ id }) => await downloadLarge('downloadFile', { id }))).refused,
    )
  else
    for (let i = 0; i < files.length; i += maxBatch) {
      const ids = files.slice(i, i + maxBatch).map(({ id }) => id)
      try {
        await zip({ ...project, file_ids: ids, name: 'files.zip' })
      } catch (error) {
        done.refused.push({ name: namesOf(files), message: failureOf(error).message })
      }
    }
  return done.refused
}

/** Shows the items that an undo could not restore. */
function report(refused: Refused[]): void {
  for (const { name, message } of refused) toast(`${name}: ${message}`)
}
