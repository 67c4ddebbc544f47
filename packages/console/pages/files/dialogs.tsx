// The dialogs of the files page. They close before their work is done: the page shows what failed.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call, failureOf, type Failure } from '../../session.ts'
import { Dialog, focus, Problem } from '../../ui.tsx'
import { namesOf } from './actions.ts'
import { changed, type Folder, type Item } from './place.ts'
import { Tree } from './tree.tsx'

interface MoveProps {
  items: Item[]
  projectId: string | null
  rootName: string
  trail: Folder[]
  onClose: () => void
  onChosen: (folderId: string | null) => void
}

export function MoveDialog({ items, projectId, rootName, trail, onClose, onChosen }: MoveProps) {
  const [target, setTarget] = useState<string | null | undefined>(undefined)
  return (
    <Dialog title={`Move ${namesOf(items)}`} onClose={onClose}>
      <div class="pick" role="group" aria-label="Folder">
        <Tree
          projectId={projectId}
          rootName={rootName}
          trail={trail}
          current={target}
          onChosen={setTarget}
          without={new Set(items.map(({ id }) => id))}
        />
      </div>
      <footer>
        <button
          type="button"
          class="main"
          disabled={target === undefined}
          onClick={() => {
            onClose()
            onChosen(target!)
          }}
        >
          Move here
        </button>
      </footer>
    </Dialog>
  )
}

interface ConfirmProps {
  title: string
  action: string
  children: ComponentChildren
  onClose: () => void
  onConfirmed: () => void
}

export function ConfirmDialog({ title, action, children, onClose, onConfirmed }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <footer>
        <button
          type="button"
          class="remove"
          onClick={() => {
            onClose()
            onConfirmed()
          }}
        >
          {action}
        </button>
      </footer>
    </Dialog>
  )
}

export function TagDialog(props: { items: Item[]; onClose: () => void; onTags: (tags: string[]) => void }) {
  const files = props.items.filter(({ kind }) => kind === 'file')
  const before = files.length === 1 ? files[0].data.tags : []
  return (
    <Dialog title={`Tags of ${namesOf(files)}`} onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const text = String(new FormData(event.currentTarget).get('tags'))
          props.onClose()
          props.onTags([
            ...new Set(
              text
                .split(',')
                .map((tag) => tag.trim())
                .filter(Boolean),
            ),
          ])
        }}
      >
        <div class="field">
          <label for="tags">Tags, with commas between them</label>
          <input id="tags" name="tags" defaultValue={before.join(', ')} />
          <small class="soft">They replace the tags that the files have.</small>
        </div>
        <footer>
          <button type="submit" class="main">
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

/** A folder that is about to be created, in the list. */
export function NewFolder(props: { projectId: string | null; folderId: string | null; onDone: () => void }) {
  const [failure, setFailure] = useState<Failure | null>(null)
  const [busy, setBusy] = useState(false)
  async function create(name: string): Promise<void> {
    if (name === '') return props.onDone()
    const { projectId, folderId } = props
    setBusy(true)
    try {
      // A folder that others share belongs to their project; its parent says which.
      const parent = folderId !== null ? { parent_id: folderId } : {}
      await call('createFolder', { body: { name, ...parent, ...(projectId && { project_id: projectId }) } })
      props.onDone()
      changed('folders', 'files')
    } catch (error) {
      setFailure(failureOf(error))
      setBusy(false)
    }
  }
  return (
    <form
      class="new-folder"
      onSubmit={(event) => {
        event.preventDefault()
        void create(String(new FormData(event.currentTarget).get('name')).trim())
      }}
    >
      <input
        name="name"
        aria-label="Name of the new folder"
        placeholder="Name of the new folder"
        autoComplete="off"
        ref={focus}
        onKeyDown={(event) => event.key === 'Escape' && props.onDone()}
      />
      <button type="submit" class="main" disabled={busy}>
        Create
      </button>
      <button type="button" onClick={props.onDone}>
        Cancel
      </button>
      {failure !== null && <Problem failure={failure} />}
    </form>
  )
}
