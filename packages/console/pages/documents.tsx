// The documents of a knowledge base: files are added by choice or by drop, and their indexing is watched.
import { ListPage } from '../list.tsx'
import { listAt } from '../model.ts'
import type { PageProps } from '../router.ts'
import { isAllowed } from '../session.ts'
import { UploadArea, useUploaded } from './upload-area.tsx'
import { documentTarget } from './uploads.ts'

export function DocumentsPage({ path, query, values }: PageProps) {
  const { page: list } = listAt(path)!
  const round = useUploaded()
  // A file is stored first, which needs the scope of uploads.
  const canUpload = isAllowed('createDocument') && isAllowed('uploadFile')
  return (
    <ListPage {...{ list, values, path, query, round }}>
      {() => canUpload && <UploadArea label="Add files" targetIn={() => documentTarget(values.id)} />}
    </ListPage>
  )
}
