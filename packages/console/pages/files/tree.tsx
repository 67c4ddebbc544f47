// The tree of folders. The folders in a folder are loaded when it is opened.
import { useEffect, useState } from 'preact/hooks'
import { call, failureOf } from '../../session.ts'
import { Icon } from './icons.tsx'
import { pageSize, remember, storage, type Folder } from './place.ts'

interface Level {
  folders: Folder[]
  next: string | null
  error: string | null
  /** Whether it may have changed while the tree was not shown. */
  isStale: boolean
}

/** The levels of a project's tree by the ID of their folder, `''` for the root. */
const levels = new Map<string, Map<string, Level>>()

interface Props {
  projectId: string | null
  /** The folders from the root to the one that is shown. They are open. */
  trail: Folder[]
  rootName: string
  /** The folder that is shown or chosen; undefined for none. */
  current: string | null | undefined
  /** The folder has a link, or is a button for `onChosen`. */
  to?: (id: string | null) => string
  onChosen?: (id: string | null) => void
  /** Folders that are not offered, with all below them. */
  without?: ReadonlySet<string>
}

export function Tree(props: Props) {
  const { projectId, trail } = props
  const project = projectId ?? ''
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(['']))
  const [, setRound] = useState(0)
  const known = levels.get(project) ?? new Map<string, Level>()
  levels.set(project, known)
  async function load(id: string, cursor: string | null): Promise<void> {
    const before = cursor === null ? [] : (known.get(id)?.folders ?? [])
    const query = {
      limit: pageSize,
      sort: 'name',
      order: 'asc',
      ...(project !== '' && { project_id: project }),
      ...(id !== '' && { parent_id: id }),
      ...(cursor !== null && { cursor }),
    }
    try {
      const { data } = await call('listFolders', { query })
      data.data.forEach(remember)
      const next = data.pagination.next_cursor
      known.set(id, { folders: [...before, ...data.data], next, error: null, isStale: false })
    } catch (error) {
      known.set(id, { folders: before, next: null, error: failureOf(error).message, isStale: false })
    }
    setRound((n) => n + 1)
  }
  const above = trail.map(({ id }) => id).join()
  useEffect(() => {
    setOpen(new Set(['', ...trail.slice(0, -1).map(({ id }) => id)].concat([...open])))
  }, [project, above])
  const opened = [...open].join()
  useEffect(() => {
    for (const level of known.values()) level.isStale = true
  }, [project])
  useEffect(() => {
    for (const id of open) if (known.get(id)?.isStale !== false) void load(id, null)
  }, [project, opened])
  useEffect(() => {
    const update = (): void => {
      for (const id of known.keys())
        if (open.has(id)) void load(id, null)
        else known.delete(id)
    }
    storage.addEventListener('folders', update)
    return () => storage.removeEventListener('folders', update)
  }, [project, opened])
  const toggle = (id: string, isOpen: boolean): void => {
    const changed = new Set(open)
    if (isOpen) changed.add(id)
    else changed.delete(id)
    setOpen(changed)
  }
  return (
    <ul class="tree" onKeyDown={(event) => walk(event, toggle)}>
      <Node {...props} {...{ known, open, toggle, load }} id={null} name={props.rootName} level={0} />
    </ul>
  )
}

interface NodeProps extends Props {
  id: string | null
  name: string
  level: number
  known: Map<string, Level>
  open: ReadonlySet<string>
  toggle: (id: string, isOpen: boolean) => void
  load: (id: string, cursor: string | null) => Promise<void>
}

function Node(props: NodeProps) {
  const { id, name, level, known, open, current, without } = props
  const key = id ?? ''
  const inner = known.get(key)
  const isOpen = open.has(key)
  const folders = inner?.folders.filter((folder) => without?.has(folder.id) !== true)
  const isLeaf = inner !== undefined && folders!.length === 0 && inner.error === null
  const label = (
    <>
      <Icon name={id === null ? 'home' : 'folder'} />
      <bdi>{name}</bdi>
    </>
  )
  const shared = { 'data-node': key, 'data-open': isLeaf ? undefined : isOpen, title: name }
  return (
    <li>
      <div class="node" data-folder={props.to && key} style={{ '--level': level }}>
        {id !== null && (
          <button
            type="button"
            class={isLeaf ? 'plain toggle leaf' : 'plain toggle'}
            aria-label={`Folders in ${name}`}
            aria-expanded={isOpen && !isLeaf}
            disabled={isLeaf}
            tabIndex={-1}
            onClick={() => props.toggle(key, !isOpen)}
          >
            <Icon name="chevron" />
          </button>
        )}
        {props.to !== undefined ? (
          <a href={props.to(id)} aria-current={current === id ? 'page' : undefined} {...shared}>
            {label}
          </a>
        ) : (
          <button
            type="button"
            class="plain"
            aria-pressed={current === id}
            onClick={() => props.onChosen!(id)}
            {...shared}
          >
            {label}
          </button>
        )}
      </div>
      {isOpen && !isLeaf && (
        <ul>
          {folders?.map((folder) => (
            <Node {...props} key={folder.id} id={folder.id} name={folder.name} level={level + 1} />
          ))}
          {inner?.error != null && <li class="error">{inner.error}</li>}
          {inner?.next != null && (
            <li>
              <button type="button" class="plain more" onClick={() => void props.load(key, inner.next)}>
                More folders
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  )
}

/** The arrows walk through the shown folders, and open and close them. */
function walk(event: KeyboardEvent, toggle: (id: string, isOpen: boolean) => void): void {
  const nodes = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('[data-node]')]
  const at = nodes.indexOf(event.target as HTMLElement)
  const node = nodes[at]
  if (node === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  const { node: id, open } = node.dataset
  if (event.key === 'ArrowDown') nodes[at + 1]?.focus()
  else if (event.key === 'ArrowUp') nodes[at - 1]?.focus()
  else if (event.key === 'Home') nodes[0].focus()
  else if (event.key === 'End') nodes.at(-1)!.focus()
  else if (event.key === 'ArrowRight' && open === 'false') toggle(id!, true)
  else if (event.key === 'ArrowRight' && open === 'true') nodes[at + 1]?.focus()
  else if (event.key === 'ArrowLeft' && open === 'true' && id !== '') toggle(id!, false)
  else if (event.key === 'ArrowLeft')
    node.closest('ul')?.parentElement?.querySelector<HTMLElement>('[data-node]')?.focus()
  else return
  event.preventDefault()
}
