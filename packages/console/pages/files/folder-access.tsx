// Who works with a folder: the people it is shared with, and the links with which anyone uploads to it.
import { useState } from 'preact/hooks'
import { call, isAllowed } from '../../session.ts'
import { Problem, useLoaded } from '../../ui.tsx'
import { bytes, State, Time } from '../../value.tsx'
import { Lifetime, NewAddress, numberOf, useWork } from './parts.tsx'
import type { Folder } from './place.ts'

export function FolderSharing({ folder: { id } }: { folder: Folder }) {
  const { failure, busy, run } = useWork()
  const loaded = useLoaded(
    async () =>
      (await call('listShares', { path: { id }, query: { limit: 100, order: 'asc' } })).data.data as any[],
    id,
  )
  const share = async (body: object): Promise<unknown> => await call('createShare', { path: { id }, body })
  const end = async (shareId: string): Promise<unknown> =>
    await call('deleteShare', { path: { id, share_id: shareId } })
  return (
    <section aria-label="Shared with" class="part">
      <h3>Shared with</h3>
      {isAllowed('createShare') && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            const element = event.currentTarget
            const form = new FormData(element)
            run(async () => {
              await share({ email: String(form.get('email')).trim(), role: form.get('role') })
              element.reset()
              loaded.reload()
            })
          }}
        >
          <label class="wide">
            E-mail address
            <input name="email" type="email" required autoComplete="off" />
          </label>
          <label>
            May
            <select name="role">
              <option value="viewer">view</option>
              <option value="editor">edit</option>
            </select>
          </label>
          <button type="submit" disabled={busy}>
            Share
          </button>
        </form>
      )}
      {failure !== null && <Problem failure={failure} />}
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {loaded.value?.length === 0 && <p class="soft">Nobody yet.</p>}
      <ul class="entries">
        {loaded.value?.map(({ id: shareId, email, role, status, expires_at }) => (
          <li key={shareId}>
            <span>
              <bdi>{email}</bdi>
              {status !== 'active' && <State value={status} />}
            </span>
            <span class="actions">
              <select
                aria-label={`What ${email} may do`}
                disabled={busy || status !== 'active' || !isAllowed('createShare')}
                value={role}
                onChange={(event) => {
                  const body = { email, role: event.currentTarget.value, ...(expires_at && { expires_at }) }
                  // A share has no update: another one takes its place.
                  run(async () => {
                    await end(shareId)
                    await share(body).finally(loaded.reload)
                  })
                }}
              >
                <option value="viewer">view</option>
                <option value="editor">edit</option>
              </select>
              {isAllowed('deleteShare') && (
                <button
                  type="button"
                  class="remove"
                  aria-label={`Stop sharing with ${email}`}
                  disabled={busy}
                  onClick={() =>
                    run(async () => {
                      await end(shareId)
                      loaded.reload()
                    })
                  }
                >
                  Remove
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const megabyte = 1_000_000

export function FolderUploadLinks({ folder }: { folder: Folder }) {
  const { failure, busy, run } = useWork()
  const [url, setUrl] = useState<string | null>(null)
  const project = folder.project_id === null ? {} : { project_id: folder.project_id }
  const loaded = useLoaded(async () => {
    const query = { ...project, limit: 100, order: 'desc', status: ['active'] }
    const { data } = (await call('listUploadLinks', { query })).data
    return (data as any[]).filter(({ path }) => path === folder.path)
  }, folder.id)
  return (
    <section aria-label="Upload links" class="part">
      <h3>Upload links</h3>
      {isAllowed('createUploadLink') && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            const form = new FormData(event.currentTarget)
            const size = numberOf(form, 'megabytes')
            const body = {
              ...project,
              path: folder.path,
              expires_in_seconds: Number(form.get('lifetime')),
              max_files: numberOf(form, 'max_files'),
              max_bytes: size === null ? null : Math.round(size * megabyte),
            }
            run(async () => {
              setUrl((await call('createUploadLink', { body })).data.url)
              loaded.reload()
            })
          }}
        >
          <Lifetime />
          <label>
            Files
            <input name="max_files" type="number" min="1" placeholder="No limit" />
          </label>
          <label>
            MB per file
            <input name="megabytes" type="number" min="0.001" step="any" placeholder="No limit" />
          </label>
          <button type="submit" disabled={busy}>
            Create an upload link
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
              Until <Time value={link.expires_at} />
              <small class="soft">
                {link.file_count}
                {link.max_files !== null && ` of ${link.max_files}`} files
                {link.max_bytes !== null && `, up to ${bytes(link.max_bytes)} each`}
              </small>
            </span>
            {isAllowed('revokeUploadLink') && (
              <button
                type="button"
                class="remove"
                disabled={busy}
                aria-label="Revoke the upload link"
                onClick={() =>
                  run(async () => {
                    await call('revokeUploadLink', { path: { id: link.id } })
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
