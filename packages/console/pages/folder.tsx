// A folder as a table: first its folders, then its files. Items are selected, dragged onto a folder, renamed
// in place, moved and deleted.
import { useState } from 'preact/hooks'
import { FormDialog } from '../form.tsx'
import { href, navigate } from '../router.ts'
import { call, failureOf, isAllowed, type Failure } from '../session.ts'
import { Dialog, Problem, Skeleton, useLoaded } from '../ui.tsx'
import { bytes, Time } from '../value.tsx'
import { UploadArea, useUploaded } from './upload-area.tsx'
import { fileTarget } from './uploads.ts'

interface Item {
  id: string
  kind: 'folder' | 'file'
  name: string
  bytes: number | null
  updatedAt: string
}

/** A folder in the path to the one that is shown. */
interface Step {
  id: string | null
  name: string
}

const pageSize = 100
const dragged = 'application/x-storage-items'

export function FolderPage({ query }: { query: URLSearchParams }) {
  const round = useUploaded()
  const folderId = query.get('folder_id')
  const projectId = query.get('project_id')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [renamed, setRenamed] = useState<string | null>(null)
  const [dialog, setDialog] = useState<'create' | 'move' | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const loaded = useLoaded(async () => {
    const sent = { ...Object.fromEntries(query), limit: pageSize }
    const [trail, { data }] = await Promise.all([
      trailOf(folderId),
      call('listStorageItems', { query: sent }),
    ])
    return { trail, items: data.data.map(toItem) as Item[], next: data.pagination.next_cursor }
  }, `${query}#${round}`)
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton />
  const { trail, items, next } = loaded.value
  const chosen = items.filter(({ id }) => selected.has(id))
  const to = (id: string | null): string =>
    href('/storage/files', {
      ...(projectId && { project_id: projectId }),
      ...(id !== null && { folder_id: id }),
    })

  /** Does the work for each item, one after the other. The first error ends it. */
  async function forEach(some: Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
    setFailure(null)
    try {
      for (const item of some) await work(item)
      setSelected(new Set())
    } catch (error) {
      setFailure(failureOf(error))
    }
    loaded.reload()
  }
  const move = (some: Item[], target: string | null): Promise<void> =>
    forEach(
      some.filter(({ id }) => id !== target),
      async ({ id, kind }) =>
        kind === 'folder'
          ? await call('updateFolder', { path: { id }, body: { parent_id: target } })
          : await call('updateFile', { path: { id }, body: { folder_id: target } }),
    )
  const remove = (some: Item[]): Promise<void> =>
    forEach(some, async ({ id, kind }) =>
      call(kind === 'folder' ? 'deleteFolder' : 'deleteFile', { path: { id } }),
    )
  const rename = (item: Item, name: string): Promise<void> => {
    setRenamed(null)
    if (name === '' || name === item.name) return Promise.resolve()
    const operation = item.kind === 'folder' ? 'updateFolder' : 'updateFile'
    return forEach([item], async ({ id }) => await call(operation, { path: { id }, body: { name } }))
  }
  const dropInto = (target: string | null) => ({
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer!.types.includes(dragged)) event.preventDefault()
    },
    onDrop: (event: DragEvent) => {
      const ids = event.dataTransfer!.getData(dragged)
      if (ids === '') return
      event.preventDefault()
      void move(
        items.filter(({ id }) => ids.split(' ').includes(id)),
        target,
      )
    },
  })
  const toggle = (id: string): void => {
    const changed = new Set(selected)
    if (!changed.delete(id)) changed.add(id)
    setSelected(changed)
  }
  const canChange = isAllowed('updateFile') && isAllowed('updateFolder')
  const here = trail.slice(1).map(({ name }) => name)
  const targetIn = (inner: string) => {
    const path = [...here, inner].filter(Boolean).join('/')
    return fileTarget({ ...(projectId && { project_id: projectId }), ...(path && { path }) })
  }
  return (
    <section aria-busy={loaded.loading}>
      <header>
        <h1>{here.at(-1) ?? 'Files'}</h1>
        <Search projectId={projectId} />
      </header>
      <nav class="trail" aria-label="Folders">
        {trail.map(({ id, name }, i) => (
          <a
            key={id}
            href={to(id)}
            aria-current={i === trail.length - 1 ? 'page' : undefined}
            {...dropInto(id)}
          >
            {i > 0 && '/ '}
            {name}
          </a>
        ))}
      </nav>
      {isAllowed('createUpload') && (
        <UploadArea
          label="Upload files"
          hint={here.length > 0 ? `, into ${here.join('/')}` : ''}
          targetIn={targetIn}
        />
      )}
      {failure !== null && <Problem failure={failure} />}
      <div class="actions" role="toolbar" aria-label="Items">
        {isAllowed('createFolder') && (
          <button type="button" onClick={() => setDialog('create')}>
            New folder
          </button>
        )}
        {chosen.length > 0 && canChange && (
          <>
            <button type="button" onClick={() => setDialog('move')}>
              Move {chosen.length}
            </button>
            <button type="button" class="danger" onClick={() => void remove(chosen)}>
              Delete {chosen.length}
            </button>
          </>
        )}
      </div>
      {items.length === 0 ? (
        <p class="empty">There are no files yet.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Items">
          <table>
            <thead>
              <tr>
                {['Select', 'Name', 'Size', 'Updated at', 'Rename'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr
                  key={item.id}
                  draggable={canChange}
                  onDragStart={(event) =>
                    event.dataTransfer!.setData(dragged, [...new Set([...selected, item.id])].join(' '))
                  }
                  {...(item.kind === 'folder' && dropInto(item.id))}
                >
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Select ${item.name}`}
                      checked={selected.has(item.id)}
                      onChange={() => toggle(item.id)}
                    />
                  </td>
                  <td>
                    {renamed === item.id ? (
                      <Rename item={item} onDone={(name) => void rename(item, name)} />
                    ) : (
                      <a href={item.kind === 'folder' ? to(item.id) : href(`/storage/files/${item.id}`)}>
                        {item.name}
                        {item.kind === 'folder' && '/'}
                      </a>
                    )}
                  </td>
                  <td class="bytes">{item.bytes === null ? '' : bytes(item.bytes)}</td>
                  <td>
                    <Time value={item.updatedAt} />
                  </td>
                  <td>
                    {canChange && (
                      <button
                        type="button"
                        class="plain"
                        aria-label={`Rename ${item.name}`}
                        onClick={() => setRenamed(item.id)}
                      >
                        Rename
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next !== null && (
        <nav class="pages" aria-label="Pages">
          <button
            type="button"
            onClick={() => navigate(href('/storage/files', { ...Object.fromEntries(query), cursor: next }))}
          >
            Next
          </button>
        </nav>
      )}
      {dialog === 'create' && (
        <FormDialog
          title="New folder"
          operation="createFolder"
          values={{}}
          item={null}
          defaults={{ project_id: projectId ?? '', parent_id: folderId ?? '' }}
          onClose={() => setDialog(null)}
          onDone={loaded.reload}
        />
      )}
      {dialog === 'move' && (
        <MoveDialog
          items={chosen}
          projectId={projectId}
          onClose={() => setDialog(null)}
          onChosen={(target) => void move(chosen, target)}
        />
      )}
    </section>
  )
}

const toItem = ({ type, folder, file }: any): Item => {
  const { id, name, updated_at: updatedAt } = folder ?? file
  return { id, kind: type, name, bytes: file?.bytes ?? null, updatedAt }
}

/** The folders from the root to this one. */
async function trailOf(id: string | null): Promise<Step[]> {
  const steps: Step[] = []
  for (let at = id; at !== null;) {
    const { data } = await call('getFolder', { path: { id: at } })
    steps.unshift({ id: at, name: data.name })
    at = data.parent_id
  }
  return [{ id: null, name: 'All files' }, ...steps]
}

function Search({ projectId }: { projectId: string | null }) {
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const q = String(new FormData(event.currentTarget).get('q')).trim()
        navigate(
          href('/storage/files', {
            ...(projectId && { project_id: projectId }),
            ...(q ? { q } : { path: '/' }),
          }),
        )
      }}
    >
      <input name="q" type="search" aria-label="Search all files" placeholder="Search all files" />
    </form>
  )
}

/** Enter or leaving the field renames, Escape does not. */
function Rename({ item, onDone }: { item: Item; onDone: (name: string) => void }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onDone(event.currentTarget.querySelector('input')!.value.trim())
      }}
    >
      <input
        aria-label={`Name of ${item.name}`}
        defaultValue={item.name}
        ref={(input) => input?.focus()}
        onKeyDown={(event) => event.key === 'Escape' && onDone(item.name)}
        onBlur={(event) => onDone(event.currentTarget.value.trim())}
      />
    </form>
  )
}

interface MoveProps {
  items: Item[]
  projectId: string | null
  onClose: () => void
  onChosen: (target: string | null) => void
}

function MoveDialog({ items, projectId, onClose, onChosen }: MoveProps) {
  const loaded = useLoaded(async () => {
    const query = { parent_id: '*', limit: 100, sort: 'name', ...(projectId && { project_id: projectId }) }
    return (await call('listFolders', { query })).data.data as Array<{ id: string; path: string }>
  }, 'folders')
  const moved = new Set(items.map(({ id }) => id))
  return (
    <Dialog title={`Move ${items.length === 1 ? items[0].name : `${items.length} items`}`} onClose={onClose}>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const target = String(new FormData(event.currentTarget).get('target'))
          onClose()
          onChosen(target === '' ? null : target)
        }}
      >
        <label class="field">
          Folder
          <select name="target">
            <option value="">All files</option>
            {loaded.value
              ?.filter(({ id }) => !moved.has(id))
              .map(({ id, path }) => (
                <option key={id} value={id}>
                  {path}
                </option>
              ))}
          </select>
        </label>
        <footer>
          <button type="submit" class="main">
            Move
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
