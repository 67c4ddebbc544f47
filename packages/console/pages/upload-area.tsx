// Where files are chosen or dropped, and the uploads that they become.
import { useEffect, useState } from 'preact/hooks'
import { href } from '../router.ts'
import { Problem } from '../ui.tsx'
import { bytes } from '../value.tsx'
import { droppedFiles } from './dropped-files.ts'
import {
  addFile,
  answer,
  changes,
  dismiss,
  isAsking,
  pause,
  resume,
  uploads,
  type Target,
  type Upload,
} from './uploads.ts'

interface Props {
  label: string
  /** Continues the sentence "or drop them here". */
  hint?: string
  /** @param folder of a file that was dropped with its folder. */
  targetIn: (folder: string) => Target
}

/** Files may be dropped anywhere on the page: a browser would leave the page to show them. */
export function UploadArea({ label, hint = '', targetIn }: Props) {
  const [isOver, setIsOver] = useState(false)
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (!event.dataTransfer!.types.includes('Files')) return
      event.preventDefault()
      setIsOver(true)
    }
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setIsOver(false)
    }
    const drop = (event: DragEvent): void => {
      event.preventDefault()
      setIsOver(false)
      void droppedFiles(event.dataTransfer!).then((found) => {
        for (const { file, folder } of found) addFile(file, targetIn(folder))
      })
    }
    document.addEventListener('dragover', over)
    document.addEventListener('dragleave', leave)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', over)
      document.removeEventListener('dragleave', leave)
      document.removeEventListener('drop', drop)
    }
  }, [targetIn('').key])
  return (
    <>
      <div class={isOver ? 'field drop over' : 'field drop'}>
        <label for="files">
          {label} <small class="soft">or drop them here{hint}</small>
        </label>
        <input
          id="files"
          type="file"
          multiple
          onChange={(event) => {
            for (const file of event.currentTarget.files ?? []) addFile(file, targetIn(''))
            event.currentTarget.value = ''
          }}
        />
      </div>
      <Uploads list={targetIn('').list} />
    </>
  )
}

/** Counts the uploads that are done, so that a list is loaded again. */
export function useUploaded(): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const add = (): void => setCount((n) => n + 1)
    changes.addEventListener('done', add)
    return () => changes.removeEventListener('done', add)
  }, [])
  return count
}

/** The uploads of this tab to a list, also those that are done. */
export function useUploads(list: string): readonly Upload[] {
  const [shown, setShown] = useState(uploads)
  useEffect(() => {
    const update = (): void => setShown(uploads())
    changes.addEventListener('change', update)
    return () => changes.removeEventListener('change', update)
  }, [])
  return shown.filter(({ target }) => target.list === list)
}

function Uploads({ list }: { list: string }) {
  const here = useUploads(list)
  return here.length === 0 ? null : <UploadList uploads={here} />
}

export function UploadList({ uploads: shown }: { uploads: readonly Upload[] }) {
  return (
    <ul class="uploads" aria-label="Uploads">
      {shown.map((upload) => (
        <li key={upload.id}>
          <Row {...upload} />
        </li>
      ))}
    </ul>
  )
}

function Row(upload: Upload) {
  const { id, file, sent, state, failure, path } = upload
  const asks = isAsking(upload)
  const isMoving = state === 'waiting' || state === 'sending'
  return (
    <>
      <div>
        <span>
          <label for={`upload-${id}`}>
            {path === null ? file.name : <a href={href(path)}>{file.name}</a>}
          </label>{' '}
          <span class="soft" role="status">
            {state === 'done'
              ? 'uploaded'
              : asks
                ? 'name is taken'
                : `${bytes(sent)} of ${bytes(file.size)}, ${state}`}
          </span>
        </span>
        {isMoving && (
          <button type="button" aria-label={`Pause ${file.name}`} onClick={() => pause(id)}>
            Pause
          </button>
        )}
        {state === 'paused' && (
          <button type="button" aria-label={`Continue ${file.name}`} onClick={() => resume(id)}>
            Continue
          </button>
        )}
        <button type="button" class="plain" aria-label={`Dismiss ${file.name}`} onClick={() => dismiss(id)}>
          ✕
        </button>
      </div>
      <progress
        id={`upload-${id}`}
        max={Math.max(1, file.size)}
        value={state === 'done' ? file.size || 1 : sent}
      />
      {asks && (
        <div class="actions">
          <button type="button" aria-label={`Keep both ${file.name}`} onClick={() => answer(id, 'rename')}>
            Keep both
          </button>
          <button type="button" aria-label={`Replace ${file.name}`} onClick={() => answer(id, 'replace')}>
            Replace
          </button>
        </div>
      )}
      {failure !== null && !asks && <Problem failure={failure} retry={() => resume(id)} />}
    </>
  )
}
