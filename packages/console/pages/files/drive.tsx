// The page of files: places and the tree of folders at the left, one folder as a list or grid, and a panel
// for one item. The address has the place, the view and the item.
import { useEffect, useRef, useState } from 'preact/hooks'
import { href, navigate } from '../../router.ts'
import { call, isAllowed } from '../../session.ts'
import { asDrawer, Problem, Skeleton, useLoaded } from '../../ui.tsx'
import { changes } from '../uploads.ts'
import {
  askItems,
  deleteForever,
  downloadItems,
  moveItems,
  namesOf,
  restoreItems,
  tagItems,
  trashItems,
  type Refused,
} from './actions.ts'
import { follow } from './activity.ts'
import { showCorner } from './corner.tsx'
import { ConfirmDialog, MoveDialog, NewFolder, TagDialog } from './dialogs.tsx'
import { useDrop } from './drop.ts'
import { Icon, type IconName } from './icons.tsx'
import { Items } from './items.tsx'
import { Panel } from './panel.tsx'
import { useWork } from './parts.tsx'
import {
  addressOf,
  changed,
  inFolder,
  itemsOf,
  placeOf,
  storage,
  trailOf,
  usePages,
  type Folder,
  type Item,
  type Pages,
  type Place,
} from './place.ts'
import { receive } from './receive.ts'
import { SharedFolders } from './shared.tsx'
import { Tree } from './tree.tsx'

const viewKey = 'platform-files-view'
const reloadMs = 300

type Dialog = 'new' | 'move' | 'tag' | 'delete' | 'empty'

export function Drive({ query }: { query: URLSearchParams }) {
  const place = placeOf(query)
  const { kind, projectId, folderId, q } = place
  const view = query.get('view')
  const isGrid = (view ?? localStorage.getItem(viewKey)) === 'grid'
  const shownId = query.get('item')
  const key = addressOf(place)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [renamed, setRenamed] = useState<string | null>(null)
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const [refused, setRefused] = useState<Refused[]>([])
  const heading = useRef<HTMLHeadingElement>(null)
  const drawer = useRef<HTMLDetailsElement>(null)
  const { failure: workFailure, busy, run } = useWork()

  const listsShares = kind === 'shared' && folderId === null
  const pages = usePages(
    async (cursor) => (listsShares ? { items: [], next: null } : await itemsOf(place, cursor)),
    key,
  )
  const trail = useTrail(place)
  const role = useRole(place, trail.value)
  const items = pages.items ?? []
  const chosen = items.filter(({ id }) => selected.has(id))
  const files = chosen.filter((item) => item.kind === 'file')
  const canWrite = role.canWrite && isAllowed('updateFile')
  const isShared = kind === 'shared'
  /** In a shared folder, folders are created but not changed. */
  const canArrange = canWrite && !isShared && kind !== 'trash' && isAllowed('updateFolder')
  const canUpload =
    canWrite &&
    !listsShares &&
    (kind === 'files' || isShared) &&
    isAllowed(isShared ? 'uploadFile' : 'createUpload')

  useEffect(() => showCorner(), [])
  useEffect(() => {
    setSelected(new Set())
    setRenamed(null)
    setDialog(null)
    setRefused([])
    drawer.current!.open = false
    // The link that led here may be gone.
    const { activeElement } = document
    if (activeElement === null || activeElement === document.body)
      heading.current!.focus({ preventScroll: true })
  }, [key])
  useReloads(pages.reload)
  useEffect(() => {
    if (pages.items === null) return
    const there = new Set(items.map(({ id }) => id))
    if ([...selected].some((id) => !there.has(id)))
      setSelected(new Set([...selected].filter((id) => there.has(id))))
  }, [pages.items])
  useDrop({
    onFiles: canUpload
      ? (found, target) =>
          void receive(found, place, target === undefined ? folderId : target).then(setRefused)
      : null,
    onItems: canArrange
      ? (ids, target) =>
          act(
            async () =>
              await moveItems(
                items.filter(({ id }) => ids.includes(id)),
                target,
              ),
          )
      : null,
  })

  function act(work: () => Promise<Refused[]>): void {
    setRefused([])
    run(async () => setRefused(await work()))
  }
  const at = (to: Place, item: string | null = null): string => addressOf(to, { view, item })
  const close = (): void => {
    const id = shownId
    navigate(at(place), { replace: true })
    document.querySelector<HTMLElement>(`a[data-item="${id}"]`)?.focus()
  }
  const open = (item: Item): void => navigate(at(place, item.id), { scrolls: false })
  const trash = (some: Item[]): void => {
    const safe = some.filter((item) => item.kind === 'file' || canArrange)
    if (safe.some((item) => item.kind === 'folder')) return setDialog('delete')
    act(async () => await trashItems(safe, !isShared && isAllowed('batchFiles')))
  }
  const canTrash = canWrite && kind !== 'trash' && isAllowed('batchFiles')
  const canDownload = kind !== 'trash' && isAllowed('downloadFile')
  const download = (some: Item[]): void => act(async () => await downloadItems(some, place))
  /** With a share alone there is no ZIP. */
  const canZip = (some: Item[]): boolean =>
    canDownload && (!isShared || (some.length === 1 && some[0].kind === 'file')) && isAllowed('createArchive')
  const canAsk = ['listFiles', 'createKnowledgeBase', 'createDocuments', 'createSession'].every(isAllowed)
  const ask = (some: Item[]): void =>
    act(async () => {
      const [path, refusals] = await askItems(some, projectId)
      if (path !== null && refusals.length === 0) navigate(href(path))
      return refusals
    })
  const rename = (item: Item): void => {
    if (!canWrite || (isShared && item.kind === 'folder')) return
    setRenamed(item.id)
  }
  const rootName = isShared ? 'Shared with me' : kind === 'trash' ? 'Trash' : (role.projectName ?? 'My files')
  const here = trail.value?.at(-1)
  const title = kind === 'search' ? `Search: ${q}` : folderId === null ? rootName : (here?.name ?? '…')

  return (
    <section class="drive">
      <header>
        <form
          class="search"
          role="search"
          onSubmit={(event) => {
            event.preventDefault()
            const text = String(new FormData(event.currentTarget).get('q')).trim()
            navigate(at({ ...place, kind: text === '' ? 'files' : 'search', folderId: null, q: text }))
          }}
        >
          <input
            key={q}
            name="q"
            type="search"
            aria-label="Search all files"
            placeholder="Search all files"
            defaultValue={q}
          />
        </form>
        <div class="views" role="group" aria-label="View">
          {(['list', 'grid'] as const).map((each) => (
            <button
              key={each}
              type="button"
              class="plain"
              aria-label={each === 'list' ? 'List' : 'Grid'}
              aria-pressed={isGrid === (each === 'grid')}
              onClick={() => {
                localStorage.setItem(viewKey, each)
                navigate(addressOf(place, { view: each, item: shownId }), { replace: true })
              }}
            >
              <Icon name={each} />
            </button>
          ))}
        </div>
      </header>
      <div class={shownId === null ? 'drive-body' : 'drive-body with-panel'}>
        <details class="places" ref={drawer} {...asDrawer}>
          <summary>
            <Icon name="menu" /> Folders
          </summary>
          <nav aria-label="Folders">
            {isAllowed('listFolders') && (
              <Tree
                projectId={projectId}
                trail={isShared ? [] : (trail.value ?? [])}
                rootName={role.projectName ?? 'My files'}
                current={kind === 'files' ? folderId : undefined}
                to={(id) => at({ kind: 'files', projectId, folderId: id, q: '' })}
              />
            )}
            {isAllowed('listSharedFolders') && (
              <PlaceLink
                icon="shared"
                title="Shared with me"
                isCurrent={isShared}
                to={at({ kind: 'shared', projectId, folderId: null, q: '' })}
              />
            )}
            {isAllowed('listTrash') && (
              <PlaceLink
                icon="trash"
                title="Trash"
                isCurrent={kind === 'trash'}
                to={at({ kind: 'trash', projectId, folderId: null, q: '' })}
              />
            )}
          </nav>
        </details>
        <div class="level">
          <nav class="crumbs" aria-label="Path">
            {folderId !== null && (
              <>
                <a href={at(inFolder(place, null))} data-folder={canArrange ? '' : undefined}>
                  {rootName}
                </a>
                {trail.value?.slice(0, -1).map(({ id, name }) => (
                  <a key={id} href={at(inFolder(place, id))} data-folder={canArrange ? id : undefined}>
                    <bdi>{name}</bdi>
                  </a>
                ))}
              </>
            )}
          </nav>
          <h1 ref={heading} tabIndex={-1}>
            <bdi>{title}</bdi>
          </h1>
          <div class="toolbar" role="toolbar" aria-label="Actions">
            {chosen.length > 0 ? (
              <>
                <button
                  type="button"
                  class="plain"
                  aria-label="Clear the selection"
                  onClick={() => setSelected(new Set())}
                >
                  <Icon name="close" />
                </button>
                <span role="status">{chosen.length} selected</span>
                {kind === 'trash' ? (
                  canWrite &&
                  isAllowed('batchFiles') && (
                    <>
                      <button
                        type="button"
                        disabled={busy}
                        onClick={() => act(async () => await restoreItems(chosen))}
                      >
                        Restore
                      </button>
                      <button type="button" class="remove" onClick={() => setDialog('delete')}>
                        Delete permanently
                      </button>
                    </>
                  )
                ) : (
                  <>
                    {canArrange && (
                      <button type="button" onClick={() => setDialog('move')}>
                        Move to…
                      </button>
                    )}
                    {canAsk && !isShared && (
                      <button type="button" disabled={busy} onClick={() => ask(chosen)}>
                        Ask
                      </button>
                    )}
                    {canZip(chosen) && (
                      <button type="button" onClick={() => download(chosen)}>
                        {chosen.length === 1 && files.length === 1 ? 'Download' : 'Download as ZIP'}
                      </button>
                    )}
                    {canWrite && chosen.length === 1 && !(isShared && files.length === 0) && (
                      <button type="button" onClick={() => rename(chosen[0])}>
                        Rename
                      </button>
                    )}
                    {canWrite && files.length > 0 && isAllowed('batchFiles') && (
                      <button type="button" onClick={() => setDialog('tag')}>
                        Tags
                      </button>
                    )}
                    {chosen.length === 1 && (
                      <button type="button" onClick={() => open(chosen[0])}>
                        Details
                      </button>
                    )}
                    {canTrash && (canArrange || files.length === chosen.length) && (
                      <button type="button" class="remove" onClick={() => trash(chosen)}>
                        Delete
                      </button>
                    )}
                  </>
                )}
              </>
            ) : (
              <>
                {canUpload && (
                  <UploadButtons onFiles={(found) => void receive(found, place, folderId).then(setRefused)} />
                )}
                {canUpload && isAllowed('createFolder') && (
                  <button type="button" onClick={() => setDialog('new')}>
                    New folder
                  </button>
                )}
                {here !== undefined && canAsk && kind === 'files' && items.length > 0 && (
                  <button
                    type="button"
                    disabled={busy}
                    onClick={() => ask([{ id: here.id, kind: 'folder', name: here.name, data: here }])}
                  >
                    Ask about this folder
                  </button>
                )}
                {kind === 'trash' && canWrite && items.length > 0 && isAllowed('emptyTrash') && (
                  <button type="button" class="remove" onClick={() => setDialog('empty')}>
                    Empty the trash
                  </button>
                )}
              </>
            )}
          </div>
          {dialog === 'new' && (
            <NewFolder
              projectId={isShared ? null : projectId}
              folderId={folderId}
              onDone={() => setDialog(null)}
            />
          )}
          {workFailure !== null && <Problem failure={workFailure} />}
          {refused.length > 0 && <RefusedList refused={refused} onClose={() => setRefused([])} />}
          {trail.failure !== null && <Problem failure={trail.failure} retry={trail.reload} />}
          {listsShares ? (
            <SharedFolders to={(id) => at({ ...place, folderId: id })} />
          ) : (
            <>
              {pages.failure !== null && trail.failure === null && (
                <Problem failure={pages.failure} retry={pages.reload} />
              )}
              {pages.items === null && pages.failure === null && <Skeleton rows={8} />}
              {pages.items !== null && items.length === 0 && dialog !== 'new' && (
                <p class="empty">{emptyText(place, canUpload)}</p>
              )}
              {items.length > 0 && (
                <Items
                  {...{ items, place, isGrid, selected, renamed }}
                  onSelected={setSelected}
                  shown={shownId}
                  onRenamed={() => setRenamed(null)}
                  to={(item) => (item.kind === 'folder' ? at(inFolder(place, item.id)) : at(place, item.id))}
                  open={open}
                  canDrag={canArrange}
                  commands={{
                    trash: canTrash ? trash : null,
                    rename: canWrite && kind !== 'trash' ? rename : null,
                    leave: () => shownId !== null && close(),
                  }}
                />
              )}
              {pages.next !== null && <More {...pages} />}
            </>
          )}
        </div>
        {shownId !== null && (
          <Panel
            key={shownId}
            id={shownId}
            place={place}
            canWrite={canWrite}
            onClose={close}
            actions={(item) => (
              <>
                {item.kind === 'folder' && (
                  <a class="button" href={at(inFolder(place, item.id))}>
                    Open
                  </a>
                )}
                {canZip([item]) && (
                  <button type="button" onClick={() => download([item])}>
                    {item.kind === 'file' ? 'Download' : 'Download as ZIP'}
                  </button>
                )}
                {kind === 'trash' && canWrite && (
                  <button
                    type="button"
                    onClick={() => {
                      close()
                      act(async () => await restoreItems([item]))
                    }}
                  >
                    Restore
                  </button>
                )}
              </>
            )}
          />
        )}
      </div>
      {dialog === 'move' && (
        <MoveDialog
          items={chosen}
          projectId={projectId}
          rootName={role.projectName ?? 'My files'}
          trail={trail.value ?? []}
          onClose={() => setDialog(null)}
          onChosen={(target) => act(async () => await moveItems(chosen, target))}
        />
      )}
      {dialog === 'tag' && (
        <TagDialog
          items={chosen}
          onClose={() => setDialog(null)}
          onTags={(tags) => act(async () => await tagItems(chosen, tags))}
        />
      )}
      {dialog === 'delete' && (
        <ConfirmDialog
          title={`Delete ${namesOf(chosen)}?`}
          action={kind === 'trash' ? 'Delete permanently' : 'Delete'}
          onClose={() => setDialog(null)}
          onConfirmed={() =>
            act(async () =>
              kind === 'trash'
                ? await deleteForever(chosen)
                : await trashItems(chosen, isAllowed('batchFiles')),
            )
          }
        >
          {kind === 'trash'
            ? 'The files cannot be restored afterwards.'
            : 'The files in deleted folders go to the trash. The deletion can be canceled while it runs.'}
        </ConfirmDialog>
      )}
      {dialog === 'empty' && (
        <ConfirmDialog
          title="Empty the trash?"
          action="Delete all permanently"
          onClose={() => setDialog(null)}
          onConfirmed={() =>
            run(async () => {
              const body = projectId === null ? {} : { project_id: projectId }
              follow('Emptying the trash', (await call('emptyTrash', { body })).data)
              changed('files')
            })
          }
        >
          The files cannot be restored afterwards.
        </ConfirmDialog>
      )}
    </section>
  )
}

function emptyText({ kind }: Place, canUpload: boolean): string {
  if (kind === 'trash') return 'The trash is empty.'
  if (kind === 'search') return 'Nothing matches.'
  return canUpload ? 'There are no files yet. Drop some here.' : 'There are no files yet.'
}

function PlaceLink(props: { icon: IconName; title: string; isCurrent: boolean; to: string }) {
  return (
    <a class="node" href={props.to} aria-current={props.isCurrent ? 'page' : undefined}>
      <Icon name={props.icon} /> {props.title}
    </a>
  )
}

type Found = Parameters<typeof receive>[0]

function UploadButtons({ onFiles }: { onFiles: (found: Found) => void }) {
  const choose = (event: { currentTarget: HTMLInputElement }): void => {
    const files = [...(event.currentTarget.files ?? [])]
    event.currentTarget.value = ''
    onFiles(
      files.map((file) => ({ file, folder: file.webkitRelativePath.split('/').slice(0, -1).join('/') })),
    )
  }
  return (
    <>
      <label class="button main">
        Upload files
        <input type="file" multiple class="hidden" onChange={choose} />
      </label>
      <label class="button">
        Upload a folder
        <input
          type="file"
          class="hidden"
          ref={(input) => {
            if (input !== null) input.webkitdirectory = true
          }}
          onChange={choose}
        />
      </label>
    </>
  )
}

function RefusedList({ refused, onClose }: { refused: Refused[]; onClose: () => void }) {
  return (
    <div class="problem" role="alert">
      <p>
        {refused.length === 1 ? 'One item was not changed:' : `${refused.length} items were not changed:`}
      </p>
      <ul>
        {refused.map(({ name, message }, i) => (
          <li key={i}>
            <bdi>{name}</bdi>: {message}
          </li>
        ))}
      </ul>
      <button type="button" onClick={onClose}>
        Dismiss
      </button>
    </div>
  )
}

/** Loads the next page when it comes into view, or by a click. After a failure, only by a click. */
function More({ loading, more, failure }: Pick<Pages<Item>, 'loading' | 'more' | 'failure'>) {
  const button = useRef<HTMLButtonElement>(null)
  const latest = useRef(more)
  latest.current = more
  useEffect(() => {
    if (failure !== null) return
    const observer = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && latest.current(), {
      rootMargin: '400px',
    })
    observer.observe(button.current!)
    return () => observer.disconnect()
  }, [loading, failure])
  return (
    <p class="more">
      <button type="button" ref={button} aria-busy={loading} onClick={more}>
        {loading ? 'Loading…' : 'Load more'}
      </button>
    </p>
  )
}

/** Reloads soon after something has changed; several changes at once are one reload. */
function useReloads(reload: () => void): void {
  const latest = useRef(reload)
  latest.current = reload
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const now = (): void => latest.current()
    const uploaded = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined
        // An upload may have created folders.
        changed('folders', 'files')
      }, reloadMs)
    }
    storage.addEventListener('files', now)
    changes.addEventListener('done', uploaded)
    return () => {
      clearTimeout(timer)
      storage.removeEventListener('files', now)
      changes.removeEventListener('done', uploaded)
    }
  }, [])
}

function useTrail({ kind, folderId }: Place) {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const update = (): void => setRound((n) => n + 1)
    storage.addEventListener('folders', update)
    return () => storage.removeEventListener('folders', update)
  }, [])
  const loaded = useLoaded(
    async () => (folderId === null ? [] : await trailOf(folderId)),
    `${kind} ${folderId} ${round}`,
  )
  // The trail of another folder is not shown.
  const value = loaded.value !== null && (loaded.value.at(-1)?.id ?? null) === folderId ? loaded.value : null
  return { ...loaded, value }
}

interface Role {
  canWrite: boolean
  projectName: string | null
}

/** What the person may do: by the role in the project, or by that of the share. */
function useRole({ kind, projectId }: Place, trail: Folder[] | null): Role {
  const loaded = useLoaded(
    async () =>
      projectId !== null && isAllowed('getProject')
        ? (await call('getProject', { path: { id: projectId } })).data
        : null,
    String(projectId),
  )
  const shares = useLoaded(
    async () =>
      kind === 'shared' && isAllowed('listSharedFolders')
        ? ((await call('listSharedFolders', { query: { limit: 100 } })).data.data as any[])
        : [],
    String(kind === 'shared'),
  )
  const project = loaded.value?.id === projectId ? loaded.value : null
  const byProject =
    projectId === null ||
    (project?.status === 'active' && ['owner', 'admin', 'editor'].includes(project.your_role))
  const byShare = (shares.value ?? []).some(
    ({ folder_id, role }) => role === 'editor' && trail?.some(({ id }) => id === folder_id),
  )
  return {
    canWrite: kind === 'shared' ? byShare : byProject,
    projectName: project?.name ?? null,
  }
}
