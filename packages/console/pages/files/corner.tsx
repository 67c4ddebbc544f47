// The corner of the window: uploads, jobs and messages. It stays while other pages are shown.
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useRoute } from '../../router.ts'
import type { Failure } from '../../session.ts'
import { Problem } from '../../ui.tsx'
import { UploadList, useUploads } from '../upload-area.tsx'
import { answer, dismiss, isAsking, type Upload } from '../uploads.ts'
import {
  activity,
  cancel,
  dismissJob,
  dismissToast,
  isActive,
  shownJobs,
  shownToasts,
  type Job,
} from './activity.ts'
import { Icon } from './icons.tsx'

let isThere = false

/** Puts the corner into the window, once. */
export function showCorner(): void {
  if (isThere) return
  isThere = true
  const element = document.createElement('aside')
  element.className = 'corner'
  element.setAttribute('aria-label', 'Activity')
  document.body.append(element)
  render(<Corner />, element)
}

function Corner() {
  const [, setRound] = useState(0)
  useEffect(() => {
    const update = (): void => setRound((n) => n + 1)
    activity.addEventListener('change', update)
    return () => activity.removeEventListener('change', update)
  }, [])
  const uploads = useUploads('/storage/files')
  return (
    <>
      {uploads.length > 0 && <Uploads uploads={uploads} />}
      {shownJobs().map((job) => (
        <JobCard key={job.id} job={job} />
      ))}
      <div role="status" class="toasts">
        {shownToasts().map(({ id, text, undo }) => (
          <div key={id} class="card toast">
            <span>
              <bdi>{text}</bdi>
            </span>
            {undo !== null && (
              <button
                type="button"
                onClick={() => {
                  dismissToast(id)
                  void undo()
                }}
              >
                Undo
              </button>
            )}
            <button
              type="button"
              class="plain"
              aria-label="Dismiss the message"
              onClick={() => dismissToast(id)}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </>
  )
}

function Uploads({ uploads }: { uploads: readonly Upload[] }) {
  const { path } = useRoute()
  const [chosen, setChosen] = useState<boolean | null>(null)
  // It covers less of other pages, unless it waits for the person.
  const isOpen = chosen ?? (path.startsWith('/storage/') || uploads.some(({ failure }) => failure !== null))
  useEffect(() => {
    if (uploads.every(({ state }) => state === 'done')) for (const { id } of uploads) dismiss(id)
  }, [path])
  const done = uploads.filter(({ state }) => state === 'done').length
  const asking = uploads.filter(isAsking)
  const forAll = (given: 'rename' | 'replace' | null): void => {
    for (const { id } of asking)
      if (given === null) dismiss(id)
      else answer(id, given)
  }
  return (
    <div class="card">
      <header>
        <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
          <Icon name="chevron" /> {done} of {uploads.length} uploaded
        </button>
        <button
          type="button"
          class="plain"
          onClick={() => {
            for (const { id, state } of uploads) if (state === 'done') dismiss(id)
          }}
          disabled={done === 0}
        >
          Clear
        </button>
      </header>
      {asking.length > 1 && (
        <div class="actions" role="group" aria-label="For all names that are taken">
          <span>{asking.length} names are taken:</span>
          <button type="button" onClick={() => forAll('rename')}>
            Keep all
          </button>
          <button type="button" onClick={() => forAll('replace')}>
            Replace all
          </button>
          <button type="button" onClick={() => forAll(null)}>
            Skip all
          </button>
        </div>
      )}
      {isOpen && <UploadList uploads={uploads} />}
    </div>
  )
}

const ends: Record<string, string> = { succeeded: 'done', failed: 'failed', canceled: 'canceled' }

function JobCard({ job }: { job: Job }) {
  const [failure, setFailure] = useState<Failure | null>(null)
  const { id, text, status, done, total, error } = job
  return (
    <div class="card">
      <header>
        <label for={id}>
          <bdi>{text}</bdi>{' '}
          <small class="soft" role="status">
            {ends[status] ?? `${done.toLocaleString()} of ${total.toLocaleString()}`}
          </small>
        </label>
        {isActive(job) ? (
          <button
            type="button"
            aria-label={`Cancel: ${text}`}
            onClick={() => void cancel(job).then((failed) => setFailure(failed))}
          >
            Cancel
          </button>
        ) : (
          <button type="button" class="plain" aria-label={`Dismiss: ${text}`} onClick={() => dismissJob(id)}>
            <Icon name="close" />
          </button>
        )}
      </header>
      <progress id={id} max={Math.max(1, total)} value={status === 'succeeded' ? Math.max(1, total) : done} />
      {error !== null && <p class="error">{error}</p>}
      {failure !== null && <Problem failure={failure} />}
    </div>
  )
}
