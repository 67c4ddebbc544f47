// The items of a place as a list or as a grid: selected by pointer and keyboard, renamed in place, dragged.
import { useEffect, useRef, useState } from 'preact/hooks'
import { bytes, Time } from '../../value.tsx'
import { failureOf } from '../../session.ts'
import { renameItem } from './actions.ts'
import { dragged } from './drop.ts'
import { Icon, iconOf } from './icons.tsx'
import type { Item, Place } from './place.ts'
import { Thumbnail } from './thumbnail.tsx'

export interface Commands {
  trash: ((items: Item[]) => void) | null
  rename: ((item: Item) => void) | null
  /** Escape without a selection. */
  leave: () => void
}

interface Props {
  items: Item[]
  place: Place
  isGrid: boolean
  selected: ReadonlySet<string>
  onSelected: (ids: ReadonlySet<string>) => void
  /** The item in the panel. */
  shown: string | null
  /** The ID of the item whose name is edited. */
  renamed: string | null
  onRenamed: () => void
  to: (item: Item) => string
  /** Shows the panel of an item. */
  open: (item: Item) => void
  canDrag: boolean
  commands: Commands
}

export function Items(props: Props) {
  const { items, selected, onSelected, isGrid, commands } = props
  const list = useRef<HTMLDivElement>(null)
  /** Where a range begins. */
  const anchor = useRef<string | null>(null)
  const links = (): HTMLElement[] => [...list.current!.querySelectorAll<HTMLElement>('a[data-item]')]
  function select(item: Item, { shiftKey, toggles }: { shiftKey: boolean; toggles: boolean }): void {
    const from = items.findIndex(({ id }) => id === anchor.current)
    const to = items.indexOf(item)
    if (shiftKey && from >= 0) {
      const range = items.slice(Math.min(from, to), Math.max(from, to) + 1).map(({ id }) => id)
      return onSelected(new Set([...(toggles ? selected : []), ...range]))
    }
    anchor.current = item.id
    if (!toggles) return onSelected(new Set([item.id]))
    const changed = new Set(selected)
    if (!changed.delete(item.id)) changed.add(item.id)
    onSelected(changed)
  }
  function onKeyDown(event: KeyboardEvent): void {
    const target = event.target as HTMLElement
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== 'checkbox')
      return
    const all = links()
    const row = target.closest('[data-row]')
    const at = all.findIndex((link) => row?.contains(link))
    const item = items[at]
    const { key, shiftKey } = event
    const isCommand = event.ctrlKey || event.metaKey
    const perRow = isGrid ? columnsOf(all) : 1
    const step = (by: number): void => {
      const next = Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))
      if (shiftKey && item !== undefined) {
        anchor.current ??= item.id
        select(items[next], { shiftKey, toggles: false })
      }
      all[next]?.focus()
    }
    if (isCommand && key === 'a') onSelected(new Set(items.map(({ id }) => id)))
    else if (isCommand || event.altKey) return
    else if (key === 'j' || key === 'ArrowDown') step(key === 'j' ? 1 : perRow)
    else if (key === 'k' || key === 'ArrowUp') step(key === 'k' ? -1 : -perRow)
    else if (key === 'ArrowRight' && isGrid) step(1)
    else if (key === 'ArrowLeft' && isGrid) step(-1)
    else if (key === 'Home') step(-items.length)
    else if (key === 'End') step(items.length)
    else if ((key === 'x' || (key === ' ' && target.tagName === 'A')) && item !== undefined)
      select(item, { shiftKey, toggles: true })
    else if (key === 'Escape' && selected.size > 0) onSelected(new Set())
    else if (key === 'Escape') commands.leave()
    else if (key === 'Delete' && commands.trash !== null) {
      const some = items.filter(({ id }) => (selected.size > 0 ? selected.has(id) : id === item?.id))
      if (selected.size === 0 && item !== undefined) onSelected(new Set([item.id]))
      if (some.length > 0) commands.trash(some)
    } else if (key === 'F2' && item !== undefined && commands.rename !== null) commands.rename(item)
    else return
    event.preventDefault()
  }
  const wasRenamed = useRef<string | null>(null)
  useEffect(() => {
    const id = wasRenamed.current
    wasRenamed.current = props.renamed
    if (id !== null)
      links()
        .find((link) => link.dataset.item === id)
        ?.focus()
  }, [props.renamed])
  // The keys also work from the heading and from the page itself, where nothing else has the focus.
  const latest = useRef(onKeyDown)
  latest.current = onKeyDown
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const target = event.target as Element
      const isFree = /^(BODY|MAIN|H1)$/.test(target.tagName)
      const isOpen = document.querySelector('dialog[open]') !== null
      if (!event.defaultPrevented && !isOpen && (isFree || list.current!.contains(target)))
        latest.current(event)
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
  const rows = items.map((item) => (
    <Row key={item.id} {...props} item={item} onSelect={(how) => select(item, how)} />
  ))
  const isTrash = props.place.kind === 'trash'
  return (
    <div ref={list}>
      {isGrid ? (
        <ul class="tiles" aria-label="Items">
          {rows}
        </ul>
      ) : (
        <table class="items">
          <caption class="hidden">Items</caption>
          <thead>
            <tr>
              <th class="check" scope="col">
                <input
                  type="checkbox"
                  aria-label="Select all"
                  checked={items.length > 0 && selected.size === items.length}
                  ref={(box) => {
                    if (box !== null) box.indeterminate = selected.size > 0 && selected.size < items.length
                  }}
                  onChange={(event) =>
                    onSelected(new Set(event.currentTarget.checked ? items.map(({ id }) => id) : []))
                  }
                />
              </th>
              <th scope="col">Name</th>
              <th scope="col" class="bytes">
                Size
              </th>
              <th scope="col" class="time">
                {isTrash ? 'Moved here' : 'Updated'}
              </th>
              <th scope="col" class="end">
                <span class="hidden">Details</span>
              </th>
            </tr>
          </thead>
          <tbody>{rows}</tbody>
        </table>
      )}
    </div>
  )
}

/** The number of tiles in the first row. */
function columnsOf(links: HTMLElement[]): number {
  const tops = links.map((link) => link.closest('li')!.offsetTop)
  const first = tops.findIndex((top) => top !== tops[0])
  return first < 0 ? Math.max(1, links.length) : first
}

interface RowProps extends Props {
  item: Item
  onSelect: (how: { shiftKey: boolean; toggles: boolean }) => void
}

function Row(props: RowProps) {
  const { item, place, isGrid, selected, shown, renamed, onSelect } = props
  const { kind, name, data, id } = item
  const isSelected = selected.has(id)
  const isTrash = place.kind === 'trash'
  const check = (
    <input
      type="checkbox"
      aria-label={`Select ${name}`}
      checked={isSelected}
      onClick={(event) => onSelect({ shiftKey: event.shiftKey, toggles: true })}
    />
  )
  const label = (
    <>
      <bdi>{name}</bdi>
      {(isTrash || place.kind === 'search') && data.path && <small class="soft">{data.path}</small>}
    </>
  )
  const title =
    renamed === id ? (
      <Rename item={item} onDone={props.onRenamed} />
    ) : (
      <a
        class="name"
        data-item={id}
        href={props.to(item)}
        title={name}
        onClick={(event) => {
          if (kind === 'folder' || event.shiftKey || event.ctrlKey || event.metaKey) return
          // The panel opens beside the list, which stays where it is.
          event.preventDefault()
          props.open(item)
        }}
      >
        {label}
      </a>
    )
  const details = (
    <button
      type="button"
      class="plain details"
      aria-label={`Details of ${name}`}
      title="Details"
      onClick={() => props.open(item)}
    >
      <Icon name="info" />
    </button>
  )
  const handlers = {
    'data-row': true,
    class: [isSelected && 'selected', shown === id && 'shown'].filter(Boolean).join(' '),
    'data-folder': kind === 'folder' && props.canDrag ? id : undefined,
    draggable: props.canDrag && renamed !== id,
    onDragStart: (event: DragEvent) => {
      const ids = isSelected ? [...selected] : [id]
      event.dataTransfer!.setData(dragged, ids.join(' '))
      event.dataTransfer!.effectAllowed = 'move'
    },
    onClick: (event: MouseEvent) => {
      if ((event.target as Element).closest('a, button, input, form') !== null) {
        // With a modifier a name is selected, not opened.
        const isModified = event.shiftKey || event.ctrlKey || event.metaKey
        if (!isModified || (event.target as Element).closest('a.name') === null) return
        event.preventDefault()
      }
      getSelection()?.removeAllRanges()
      onSelect({ shiftKey: event.shiftKey, toggles: event.ctrlKey || event.metaKey })
    },
    onDblClick: (event: MouseEvent) =>
      (event.currentTarget as Element).querySelector<HTMLElement>('a.name')?.click(),
  }
  if (isGrid)
    return (
      <li {...handlers}>
        {check}
        <Thumbnail kind={kind} data={data} />
        {title}
        {details}
      </li>
    )
  return (
    <tr {...handlers}>
      <td class="check">{check}</td>
      <td class="named">
        <Icon name={iconOf(kind, data.content_type ?? '')} />
        {title}
      </td>
      <td class="bytes">{kind === 'file' && bytes(data.bytes)}</td>
      <td class="time">
        <Time value={isTrash ? data.trashed_at : data.updated_at} />
      </td>
      <td class="end">{details}</td>
    </tr>
  )
}

/** Enter or leaving the field renames, Escape does not. An error of the server stays at the field. */
function Rename({ item, onDone }: { item: Item; onDone: () => void }) {
  const [error, setError] = useState<string | null>(null)
  const input = useRef<HTMLInputElement>(null)
  const isDone = useRef(false)
  useEffect(() => {
    const { current } = input
    current!.focus()
    // The ending of a file stays.
    const dot = item.kind === 'file' ? item.name.lastIndexOf('.') : -1
    current!.setSelectionRange(0, dot > 0 ? dot : item.name.length)
  }, [])
  function finish(): void {
    isDone.current = true
    onDone()
  }
  async function send(): Promise<void> {
    // A field that is removed loses the focus, too.
    if (isDone.current || input.current === null) return
    const name = input.current.value.trim()
    if (name === '' || name === item.name) return finish()
    isDone.current = true
    try {
      await renameItem(item, name)
      onDone()
    } catch (failed) {
      isDone.current = false
      setError(failureOf(failed).message)
    }
  }
  return (
    <form
      class="rename"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <input
        ref={input}
        aria-label={`Name of ${item.name}`}
        aria-invalid={error !== null}
        aria-describedby={error === null ? undefined : 'rename-error'}
        defaultValue={item.name}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          event.stopPropagation()
          finish()
        }}
        onBlur={() => error === null && void send()}
      />
      {error !== null && (
        <p class="error" id="rename-error" role="alert">
          {error}
        </p>
      )}
    </form>
  )
}
