// Files: a folder or the files that match filters, uploads by drop or choice, and a preview.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { ListPage } from '../list.tsx'
import { detailAt, listAt } from '../model.ts'
import { href, type PageProps } from '../router.ts'
import { contentOf, isAllowed } from '../session.ts'
import { Problem, Skeleton, useLoaded } from '../ui.tsx'
import { FolderPage } from './folder.tsx'
import { UploadArea, useUploaded } from './upload-area.tsx'
import { fileTarget, type Target } from './uploads.ts'

/** Without filters a folder is shown, with filters the list of all files that match. */
export function FilesPage(props: PageProps) {
  const isFolder = [...props.query.keys()].every((name) =>
    ['project_id', 'folder_id', 'cursor'].includes(name),
  )
  if (!isFolder || !isAllowed('listStorageItems')) return <FoundFiles {...props} />
  return <FolderPage query={props.query} />
}

function FoundFiles({ path, query, values }: PageProps) {
  const { page: list } = listAt(path)!
  const round = useUploaded()
  const folder = foldersOf(query.get('path')).join('/')
  const targetIn = (inner: string): Target => {
    const projectId = query.get('project_id')
    const full = [folder, inner].filter(Boolean).join('/')
    return fileTarget({ ...(projectId && { project_id: projectId }), ...(full && { path: full }) })
  }
  const canUpload = isAllowed('createUpload')
  return (
    <ListPage {...{ list: canUpload ? { ...list, create: null } : list, values, path, query, round }}>
      {(rows) => (
        <>
          {canUpload && (
            <UploadArea label="Upload files" hint={folder && `, into ${folder}`} targetIn={targetIn} />
          )}
          <Folders query={query} rows={rows} />
        </>
      )}
    </ListPage>
  )
}

const foldersOf = (path: string | null): string[] => (path ?? '').split('/').filter(Boolean)

/** The folders above, and those that the shown files are in. */
function Folders({ query, rows }: { query: URLSearchParams; rows: any[] }) {
  const here = foldersOf(query.get('path'))
  const to = (folders: string[]): string => {
    const { path: _, cursor: __, ...others } = Object.fromEntries(query)
    return href('/storage/files', folders.length === 0 ? others : { ...others, path: folders.join('/') })
  }
  const below = new Set(
    rows
      .map(({ path }) => foldersOf(path))
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
const maxPdfBytes = 20_000_000
const maxTextBytes = 100_000
const isImage = (type: string): boolean => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type)
const isText = (type: string): boolean => /^text\/|^application\/(json|xml|yaml)\b/.test(type)

/** An image, or the text as text: a file may hold anything, so nothing of it runs or becomes HTML. */
function Preview({ file }: { file: any }) {
  const { id, name, content_type: type, bytes: size } = file
  if (isImage(type) && size <= maxImageBytes) return <Image id={id} name={name} />
  if (type === 'application/pdf' && size <= maxPdfBytes) return <Pdf id={id} name={name} />
  if (isText(type) && size > 0) return <Text id={id} isWhole={size <= maxTextBytes} />
  return null
}

function Image({ id, name }: { id: string; name: string }) {
  return <Loaded id={id}>{(url) => <img class="preview" src={url} alt={name} />}</Loaded>
}

/** The browser's viewer shows it: the type is fixed, so no content can become a page of the console. */
function Pdf({ id, name }: { id: string; name: string }) {
  return (
    <Loaded id={id} type="application/pdf">
      {(url) => <iframe class="preview" src={url} title={name} />}
    </Loaded>
  )
}

interface LoadedProps {
  id: string
  type?: string
  /** Shows the content by its address. */
  children: (url: string) => ComponentChildren
}

function Loaded({ id, type, children }: LoadedProps) {
  const loaded = useLoaded(async () => await contentOf('downloadFile', { path: { id } }), id)
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (loaded.value === null) return
    const made = URL.createObjectURL(type === undefined ? loaded.value : new Blob([loaded.value], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [loaded.value])
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  return url === null ? <Skeleton /> : <>{children(url)}</>
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
