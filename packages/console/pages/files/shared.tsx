// The folders that others share with the person.
import { useState } from 'preact/hooks'
import { call, isAllowed } from '../../session.ts'
import { Problem, Skeleton, useLoaded } from '../../ui.tsx'
import { Time } from '../../value.tsx'
import { ConfirmDialog } from './dialogs.tsx'
import { Icon } from './icons.tsx'
import { useWork } from './parts.tsx'

export function SharedFolders({ to }: { to: (folderId: string) => string }) {
  const [leaving, setLeaving] = useState<any>(null)
  const { failure, run } = useWork()
  const loaded = useLoaded(
    async () =>
      (await call('listSharedFolders', { query: { limit: 100, order: 'desc' } })).data.data as any[],
    'shared',
  )
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton rows={6} />
  if (loaded.value.length === 0) return <p class="empty">Nobody has shared a folder with you.</p>
  return (
    <>
      {failure !== null && <Problem failure={failure} />}
      <table class="items">
        <caption class="hidden">Folders that are shared with you</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Shared by</th>
            <th scope="col" class="role">
              You may
            </th>
            <th scope="col" class="time">
              Since
            </th>
            <th scope="col" class="end">
              <span class="hidden">Leave</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {loaded.value.map((share) => (
            <tr key={share.id}>
              <td class="named">
                <Icon name="folder" />
                <a class="name" href={to(share.folder_id)} title={share.folder_name}>
                  <bdi>{share.folder_name}</bdi>
                </a>
              </td>
              <td>
                <bdi>{share.created_by_name}</bdi>
              </td>
              <td class="role">{share.role === 'editor' ? 'edit' : 'view'}</td>
              <td class="time">
                <Time value={share.created_at} />
              </td>
              <td class="end">
                {isAllowed('leaveSharedFolder') && (
                  <button
                    type="button"
                    class="plain"
                    aria-label={`Leave ${share.folder_name}`}
                    title="Leave"
                    onClick={() => setLeaving(share)}
                  >
                    <Icon name="close" />
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {leaving !== null && (
        <ConfirmDialog
          title={`Leave ${leaving.folder_name}?`}
          action="Leave"
          onClose={() => setLeaving(null)}
          onConfirmed={() =>
            run(async () => {
              await call('leaveSharedFolder', { path: { id: leaving.id } })
              loaded.reload()
            })
          }
        >
          You will not see the folder any more, unless it is shared with you again.
        </ConfirmDialog>
      )}
    </>
  )
}
