// Filters of a list as chips: a choice applies at once and stays in the address.
import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import type { ConsoleField } from './model-types.ts'
import { shownTitle } from './model.ts'
import { nameOf } from './names.ts'
import { Reference } from './reference.tsx'
import { placeNames } from './router.ts'
import { timeText } from './times.ts'

export type Go = (changes: Record<string, string | null>) => void

interface Props {
  filters: ConsoleField[]
  query: URLSearchParams
  go: Go
}

/** The chips that are shown at once on wide screens. */
const shownAtOnce = 4

/** Choices come first, references last. */
const rank = ({ kind }: ConsoleField): number =>
  ['choice', 'boolean'].indexOf(kind) >= 0 ? 0 : kind === 'id' ? 2 : 1

export function Filters({ filters, query, go }: Props) {
  const [isOpen, setIsOpen] = useState(false)
  // The switcher chooses the project and organization.
  const others = filters.filter(({ name }) => !placeNames.some((each) => each === name))
  const search = others.find(({ name }) => name === 'q')
  const chips = others.filter((field) => field !== search).sort((a, b) => rank(a) - rank(b))
  if (others.length === 0) return null
  const set = chips.filter(({ name }) => query.has(name)).length
  const apply = (name: string, value: string | null): void => go({ [name]: value, cursor: null })
  return (
    <div
      class={`filters${isOpen ? ' open' : ''}`}
      role="group"
      aria-label="Filters"
      onKeyDown={(event) => event.key === 'Escape' && setIsOpen(false)}
    >
      {search !== undefined && (
        <input
          key={query.get('q')}
          type="search"
          aria-label="Search"
          placeholder="Search"
          defaultValue={query.get('q') ?? ''}
          onChange={(event) => apply('q', event.currentTarget.value.trim())}
        />
      )}
      {chips.map((field, i) => (
        <Chip
          key={field.name}
          field={field}
          isRest={i >= shownAtOnce}
          value={query.get(field.name)}
          apply={(value) => apply(field.name, value)}
        />
      ))}
      {chips.length > 0 && (
        <button
          type="button"
          class={`more-filters${chips.length > shownAtOnce ? '' : ' narrow'}`}
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'close' : 'filter'} />
          {isOpen ? 'Done' : `Filters${set > 0 ? ` (${set})` : ''}`}
        </button>
      )}
    </div>
  )
}

interface ChipProps {
  field: ConsoleField
  /** Whether it is shown only with all filters, unless it is set. */
  isRest: boolean
  value: string | null
  apply: (value: string | null) => void
}

function Chip({ field, isRest, value, apply }: ChipProps) {
  const { name, kind, values } = field
  const id = `filter-${name}`
  const options = values ?? (kind === 'boolean' ? ['true', 'false'] : null)
  return (
    <div class={`chip${value === null ? '' : ' on'}${isRest ? ' rest' : ''}`}>
      <label for={id}>{shownTitle(field)}</label>
      {options !== null ? (
        <select id={id} value={value ?? ''} onChange={(event) => apply(event.currentTarget.value)}>
          <option value="">All</option>
          {options.map((each) => (
            <option key={String(each)} value={String(each)}>
              {timeText(String(each)) ?? nameOf(String(each)) ?? String(each).replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      ) : value !== null && nameOf(value) !== undefined ? (
        <span>{nameOf(value)}</span>
      ) : (
        <Reference
          key={value}
          id={id}
          prefix={field.prefix}
          placeholder="Any"
          defaultValue={value ?? ''}
          onChange={(event) => apply(event.currentTarget.value.trim())}
        />
      )}
      {value !== null && (
        <button
          type="button"
          class="plain"
          aria-label={`Remove ${shownTitle(field)}`}
          onClick={() => apply(null)}
        >
          <Icon name="close" />
        </button>
      )}
    </div>
  )
}
