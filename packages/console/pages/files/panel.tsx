// The panel of one item: what a file is, its versions and links; with whom a folder is shared, and its upload
// links.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { href } from '../../router.ts'
import { call, download, isAllowed } from '../../session.ts'
import { Problem, Skeleton, useLoaded } from '../../ui.tsx'
import { bytes, State, Time } from '../../value.tsx'
import { toast } from './activity.ts'
import { FolderSharing, FolderUploadLinks } from './folder-access.tsx'
import { Icon, iconOf } from './icons.tsx'
import { changed, folderOf, storage, type Folder, type Item, type Place } from './place.ts'
import { CopyButton, Lifetime, NewAddress, numberOf, useWork } from './parts.tsx'
import { Preview } from './preview.tsx'

interface Props {
  id: string
  place: Place
  /** Whether the person may change things here. */
  canWrite: boolean
  onClose: () => void
  /** Acts on this item alone. */
  actions: (item: Item) => ComponentChildren
}

export function Panel(props: Props) {
  const { id, onClose } = props
  const panel = useRef<HTMLElement>(null)
  const [round, setRound] = useState(0)
  useEffect(() => {
    panel.current!.querySelector<HTMLElement>('h2')!.focus()
  }, [id])
  useEffect(() => {
    const update = (): void => setRound((n) => n + 1)
    storage.addEventListener('files', update)
    return () => storage.removeEventListener('files', update)
  }, [])
  const isFolder = id.startsWith('fld_')
  const loaded = useLoaded(async (): Promise<Item> => {
    if (isFolder) {
      const folder = await folderOf(id)
      return { id, kind: 'folder', name: folder.name, data: folder }
    }
    const isTrash = props.place.kind === 'trash'
    const query = { include: ['created_by'] }
    const { data } = await call(isTrash ? 'getTrashedFile' : 'getFile', {
      path: { id },
      ...(!isTrash && { query }),
    })
    return { id, kind: 'file', name: data.name, data }
  }, `${id}#${round}`)
  const item = loaded.value?.id === id ? loaded.value : null
  return (
    <aside
      class="panel"
      aria-label="Details"
      ref={panel}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || (event.target as Element).closest('dialog') !== null) return
        event.stopPropagation()
        onClose()
      }}
    >
      <header>
        <Icon name={iconOf(isFolder ? 'folder' : 'file', item?.data.content_type ?? '')} />
        <h2 tabIndex={-1} title={item?.name}>
          <bdi>{item?.name ?? '…'}</bdi>
        </h2>
        <button type="button" class="plain" aria-label="Close the details" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {item === null && loaded.failure === null && <Skeleton />}
      {item !== null && (
        <>
          <div class="actions">{props.actions(item)}</div>
          {isFolder ? (
            <FolderDetails {...props} folder={item.data} />
          ) : (
            <FileDetails {...props} file={item.data} />
          )}
        </>
      )}
    </aside>
  )
}

function FileDetails({ file, place, canWrite }: Props & { file: any }) {
  const isOwn = place.kind !== 'shared'
  const isTrash = place.kind === 'trash'
  return (
    <>
      {!isTrash && isAllowed('downloadFile') && <Preview key={file.etag} file={file} />}
      <dl>
        <Row title="Type">{file.content_type}</Row>
        <Row title="Size">{bytes(file.bytes)}</Row>
        <Row title="Folder">{file.path === '' ? 'None' : <bdi>{file.path}</bdi>}</Row>
        {!isTrash && <Row title="Uploaded by">{file.created_by_user?.name ?? 'Somebody else'}</Row>}
        <Row title="Uploaded">
          <Time value={file.created_at} />
        </Row>
        <Row title="Updated">
          <Time value={file.updated_at} />
        </Row>
        {file.tags.length > 0 && <Row title="Tags">{file.tags.join(', ')}</Row>}
        <Row title="ID">
          <CopyButton text={file.id} label="Copy the ID" />
        </Row>
      </dl>
      {!isTrash && (
        <p>
          <a href={href(`/storage/files/${file.id}`)}>All fields and actions</a>
        </p>
      )}
      {isOwn && !isTrash && isAllowed('listFileVersions') && <Versions file={file} canWrite={canWrite} />}
      {!isOwn && canWrite && <NewVersion file={file} />}
      {isOwn && !isTrash && canWrite && isAllowed('listFileLinks') && <Links file={file} />}
    </>
  )
}

function FolderDetails({ folder, place, canWrite }: Props & { folder: Folder }) {
  return (
    <>
      <dl>
        <Row title="Path">
          <bdi>{folder.path}</bdi>
        </Row>
        <Row title="Created">
          <Time value={folder.created_at} />
        </Row>
        <Row title="Updated">
          <Time value={folder.updated_at} />
        </Row>
        <Row title="ID">
          <CopyButton text={folder.id} label="Copy the ID" />
        </Row>
      </dl>
      {canWrite && place.kind !== 'shared' && (
        <>
          {isAllowed('listShares') && <FolderSharing folder={folder} />}
          {isAllowed('listUploadLinks') && <FolderUploadLinks folder={folder} />}
        </>
      )}
    </>
  )
}

function Row({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function NewVersion({ file }: { file: any }) {
  const { failure, busy, run } = useWork()
  const [sent, setSent] = useState(0)
  if (!isAllowed('replaceFileContent')) return null
  return (
    <>
      <label class="button">
        {busy ? `Uploading, ${bytes(sent)}` : 'Upload a new version'}
        <input
          type="file"
          class="hidden"
          disabled={busy}
          onChange={(event) => {
            const chosen = event.currentTarget.files?.[0]
            event.currentTarget.value = ''
            if (chosen === undefined) return
            run(async () => {
              await call('replaceFileContent', {
                path: { id: file.id },
                body: { file: chosen },
                timeout: null,
                onProgress: (progress) => setSent(progress.sent),
              })
              changed('files')
            })
          }}
        />
      </label>
      {failure !== null && <Problem failure={failure} />}
    </>
  )
}

function Versions({ file, canWrite }: { file: any; canWrite: boolean }) {
  const { failure, busy, run } = useWork()
  const { id } = file
  const loaded = useLoaded(async () => {
    const query = { limit: 100, order: 'desc', include: ['created_by'] }
    return (await call('listFileVersions', { path: { id }, query })).data.data as any[]
  }, `${id}#${file.content_version}`)
  const on = (version: any) => ({ path: { id, version_id: version.id } })
  return (
    <section aria-label="Versions" class="part">
      <h3>Versions</h3>
      {canWrite && <NewVersion file={file} />}
      {failure !== null && <Problem failure={failure} />}
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      <ul class="entries">
        <li>
          <span>
            Version {file.content_version}, current
            <small class="soft">
              {bytes(file.bytes)}, <Time value={file.content_updated_at} />
            </small>
          </span>
        </li>
        {loaded.value?.map((version) => (
          <li key={version.id}>
            <span>
              Version {version.number}
              <small class="soft">
                {bytes(version.bytes)}, <Time value={version.created_at} />
                {version.created_by_user && <>, {version.created_by_user.name}</>}
              </small>
            </span>
            <span class="actions">
              {isAllowed('downloadFileVersion') && (
                <button
                  type="button"
                  aria-label={`Download version ${version.number}`}
                  onClick={() => run(async () => await download('downloadFileVersion', on(version)))}
                >
                  Download
                </button>
              )}
              {canWrite && isAllowed('restoreFileVersion') && (
                <button
                  type="button"
                  disabled={busy}
                  aria-label={`Restore version ${version.number}`}
                  onClick={() =>
                    run(async () => {
                      await call('restoreFileVersion', on(version))
                      toast(`Version ${version.number} is the content again`)
                      changed('files')
                    })
                  }
                >
                  Restore
                </button>
              )}
              {canWrite && isAllowed('deleteFileVersion') && (
                <button
                  type="button"
                  class="remove"
                  disabled={busy}
                  aria-label={`Delete version ${version.number}`}
                  onClick={() =>
                    run(async () => {
                      await call('deleteFileVersion', on(version))
                      loaded.reload()
                    })
                  }
                >
                  Delete
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Links({ file }: { file: any }) {
  const { failure, busy, run } = useWork()
  const [url, setUrl] = useState<string | null>(null)
  const { id } = file
  const loaded = useLoaded(async () => {
    const query = { limit: 100, order: 'desc', status: ['active'] }
    return (await call('listFileLinks', { path: { id }, query })).data.data as any[]
  }, id)
  return (
    <section aria-label="Links" class="part">
      <h3>Links</h3>
      {isAllowed('createFileLink') && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            const form = new FormData(event.currentTarget)
            const body = {
              expires_in_seconds: Number(form.get('lifetime')),
              max_downloads: numberOf(form, 'max_downloads'),
            }
            run(async () => {
              setUrl((await call('createFileLink', { path: { id }, body })).data.url)
              loaded.reload()
            })
          }}
        >
          <Lifetime />
          <label>
            Downloads
            <input name="max_downloads" type="number" min="1" placeholder="No limit" />
          </label>
          <button type="submit" disabled={busy}>
            Create a link
          </button>
        </form>
      )}
      {url !== null && <NewAddress url={url} />}
      {failure !== null && <Problem failure={failure} />}
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      <ul class="entries">
        {loaded.value?.map((link) => (
          <li key={link.id}>
            <span>
              Until <Time value={link.expires_at} /> <State value={link.status} />
              <small class="soft">
                {link.download_count}
                {link.max_downloads !== null && ` of ${link.max_downloads}`} downloads
              </small>
            </span>
            {isAllowed('revokeFileLink') && (
              <button
                type="button"
                class="remove"
                disabled={busy}
                onClick={() =>
                  run(async () => {
                    await call('revokeFileLink', { path: { id, link_id: link.id } })
                    setUrl(null)
                    loaded.reload()
                  })
                }
              >
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
