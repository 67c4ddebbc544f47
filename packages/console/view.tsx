// How a person wants to see lists: the columns, kept for each list, and the height of rows, kept for all.
import type { ComponentChildren, TargetedFocusEvent } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsoleField } from './model-types.ts'
import { shownTitle, type List } from './model.ts'
import { asDrawer } from './ui.tsx'

const compactKey = 'platform-compact'

const isCompact = (): boolean => localStorage.getItem(compactKey) !== null

/** The class of tables. */
export const rowsClass = (): string => (isCompact() ? 'rows compact' : 'rows')

const closeOutside = ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLDetailsElement>): void => {
  if (relatedTarget !== null && !currentTarget.contains(relatedTarget as Node)) currentTarget.open = false
}

/** The columns that are shown, and the menu to choose them. The first one is always shown. */
export function useView(list: List): { columns: ConsoleField[]; menu: ComponentChildren } {
  const key = `platform-hidden ${list.path}`
  const [hidden, setHidden] = useState(() => new Set(localStorage.getItem(key)?.split(' ')))
  const [, setCompact] = useState(isCompact)
  const [isOpen, setIsOpen] = useState(false)
  const toggle = (name: string): void => {
    const changed = new Set(hidden)
    if (!changed.delete(name)) changed.add(name)
    localStorage.setItem(key, [...changed].join(' '))
    setHidden(changed)
  }
  const toggleCompact = (): void => {
    if (isCompact()) localStorage.removeItem(compactKey)
    else localStorage.setItem(compactKey, '1')
    setCompact(isCompact())
  }
  const choice = (title: string, checked: boolean, onChange: () => void) => (
    <label key={title}>
      <input type="checkbox" {...{ checked, onChange }} />
      {title}
    </label>
  )
  return {
    columns: list.columns.filter(({ name }, i) => i === 0 || !hidden.has(name)),
    menu: (
      <details
        class="view"
        {...asDrawer}
        onToggle={(event) => setIsOpen(event.currentTarget.open)}
        onFocusOut={closeOutside}
      >
        <summary>View</summary>
        {isOpen && (
          <div role="group" aria-label="Columns and rows">
            {list.columns
              .slice(1)
              .map((column) =>
                choice(shownTitle(column), !hidden.has(column.name), () => toggle(column.name)),
              )}
            <hr />
            {choice('Compact rows', isCompact(), toggleCompact)}
          </div>
        )}
      </details>
    ),
  }
}
