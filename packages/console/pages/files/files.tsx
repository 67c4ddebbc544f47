// The pages of files: the places with their folders, the files that match filters, and a single file.
import { DetailPage } from '../../detail.tsx'
// Every page loads it: with it here, the two files need no third one for what they share.
import '../../engine.ts'
import { ListPage } from '../../list.tsx'
import { detailAt, listAt } from '../../model.ts'
import { href, type PageProps } from '../../router.ts'
import { isAllowed } from '../../session.ts'
import { UploadArea, useUploaded } from '../upload-area.tsx'
import { fileTarget, type Target } from '../uploads.ts'
import { Drive } from './drive.tsx'
import { isPlace } from './place.ts'
import { Preview } from './preview.tsx'

/** A place, or with other filters the list of all files that match. */
export function FilesPage(props: PageProps) {
  if (!isPlace(props.query) || !isAllowed('listStorageItems')) return <FoundFiles {...props} />
  return <Drive query={props.query} />
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
