// Files: folders, uploads by drop or choice, and a preview.
import { useEffect, useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { ListPage } from '../list.tsx'
import { detailAt, listAt } from '../model.ts'
import { href, type PageProps } from '../router.ts'
import { contentOf, isAllowed } from '../session.ts'
import { Problem, Skeleton, useLoaded } from '../ui.tsx'
import { bytes } from '../value.tsx'
import { addFiles, changes, dismiss, resume, uploads, type Upload } from './uploads.ts'

export function FilesPage({ path, query, values }: PageProps) {
  const { page: list } = listAt(path)!
  const [round, setRound] = useState(0)
  const [isOver, setIsOver] = useState(false)
  useEffect(() => {
    const reload = (): void => setRound((n) => n + 1)
    changes.addEventListener('done', reload)
    return () => changes.removeEventListener('done', reload)
  }, [])
  const place = Object.fromEntries([...query].filter(([name]) => name === 'project_id' || name === 'path'))
  if (!isAllowed('createUpload')) return <ListPage {...{ list, values, path, query, round }} />
  return (
    <div
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setIsOver(false)
        addFiles(event.dataTransfer?.files ?? [], place)
      }}
    >
      <ListPage {...{ list: { ...list, create: null }, values, path, query, round }}>
        {(rows) => (
          <>
            <div class="field">
              <label for="files">
                Upload files{' '}
                <small class="soft">or drop them here{place.path && `, into ${place.path}`}</small>
              </label>
              <input
                id="files"
                type="file"
                multiple
                onChange={(event) => {
                  addFiles(event.currentTarget.files ?? [], place)
                  event.currentTarget.value = ''
                }}
              />
            </div>
            <Uploads />
            <Folders query={query} rows={rows} />
          </>
        )}
      </ListPage>
    </div>
  )
}

function Uploads() {
  const [shown, setShown] = useState(uploads)
  useEffect(() => {
    const update = (): void => setShown(uploads())
    changes.addEventListener('change', update)
    return () => changes.removeEventListener('change', update)
  }, [])
  if (shown.length === 0) return null
  return (
    <ul class="uploads" aria-label="Uploads">
      {shown.map((upload) => (
        <li key={upload.id}>
          <UploadRow {...upload} />
        </li>
      ))}
    </ul>
  )
}

function UploadRow({ id, file, sent, state, failure, fileId }: Upload) {
  const name = fileId === null ? file.name : <a href={href(`/storage/files/${fileId}`)}>{file.name}</a>
  return (
    <>
      <div>
        <label for={`upload-${id}`}>{name}</label>{' '}
        <span class="soft" role="status">
          {state === 'done' ? 'uploaded' : `${bytes(sent)} of ${bytes(file.size)}, ${state}`}
        </span>
        <button type="button" class="plain" aria-label={`Dismiss ${file.name}`} onClick={() => dismiss(id)}>
          ✕
        </button>
      </div>
      <progress
        id={`upload-${id}`}
        max={Math.max(1, file.size)}
        value={state === 'done' ? file.size : sent}
      />
      {failure !== null && <Problem failure={failure} retry={() => resume(id)} />}
    </>
  )
}

/** The folders above, and those that the shown files are in. */
function Folders({ query, rows }: { query: URLSearchParams; rows: any[] }) {
  const here = (query.get('path') ?? '').split('/').filter(Boolean)
  const to = (folders: string[]): string => {
    const { path: _, cursor: __, ...others } = Object.fromEntries(query)
    return href('/storage/files', folders.length === 0 ? others : { ...others, path: folders.join('/') })
  }
  const below = new Set(
    rows
      .map(({ path }) => path.split('/').filter(Boolean))
      .filter((folders) => here.every((name, i) => folders[i] === name))
      .map((folders) => folders[here.length])
      .filter((name) => name !== undefined),
  )
  if (here.length === 0 && below.size === 0) return null
  return (
    <nav class="trail" aria-label="Folders">
      <a href={to([])}>All files</a>
      {here.map((name, i) => (
        <a key={i} href={to(here.slice(0, i + 1))}>
          / {name}
        </a>
      ))}
      {[...below].sort().map((name) => (
        <a key={name} href={to([...here, name])}>
          {name}/
        </a>
      ))}
    </nav>
  )
}

export function FilePage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage detail={detail} values={values} path={path}>
      {(file) => isAllowed('downloadFile') && <Preview key={file.etag} file={file} />}
    </DetailPage>
  )
}

const maxImageBytes = 10_000_000
const maxTextBytes = 100_000
const isImage = (type: string): boolean => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type)
const isText = (type: string): boolean => /^text\/|^application\/(json|xml|yaml)\b/.test(type)

/** An image, or the text as text: a file may hold anything, so nothing of it runs or becomes HTML. */
function Preview({ file }: { file: any }) {
  const { id, name, content_type: type, bytes: size } = file
  if (isImage(type) && size <= maxImageBytes) return <Image id={id} name={name} />
  if (isText(type) && size > 0) return <Text id={id} isWhole={size <= maxTextBytes} />
  return null
}

function Image({ id, name }: { id: string; name: string }) {
  const loaded = useLoaded(async () => await contentOf('downloadFile', { path: { id } }), id)
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (loaded.value === null) return
    const made = URL.createObjectURL(loaded.value)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [loaded.value])
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  return url === null ? <Skeleton /> : <img class="preview" src={url} alt={name} />
}

function Text({ id, isWhole }: { id: string; isWhole: boolean }) {
  const headers: Record<string, string> = isWhole ? {} : { Range: `bytes=0-${maxTextBytes - 1}` }
  const loaded = useLoaded(
    async () => await (await contentOf('downloadFile', { path: { id }, headers })).text(),
    id,
  )
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton />
  return (
    <pre class="preview" tabIndex={0}>
      {loaded.value}
      {!isWhole && '\n…'}
    </pre>
  )
}
