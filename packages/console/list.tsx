// A list: its columns, filters, sorting and pages come from the contract; its state is in the address.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useBulk } from './bulk.tsx'
import { Filters, type Go } from './filters.tsx'
import { CreateDialog } from './form.tsx'
import type { ConsoleField } from './model-types.ts'
import {
  model,
  pathOfCreated,
  pathOfItem,
  shownTitle,
  takesAllProjects,
  valueAt,
  type List,
} from './model.ts'
import { learn, nameOf, remember } from './names.ts'
import { currentPlace, fill, href, navigate, placeIn, placeNames } from './router.ts'
import { call, isAllowed, isPossible, type Input } from './session.ts'
import { createdIn, timeField, timeName } from './times.ts'
import { Dialog, Problem, Skeleton, useLoaded, useOnReady, usePolling, type Loaded } from './ui.tsx'
import { CopyId, isWaiting, textOf, Value } from './value.tsx'
import { rowsClass, useView } from './view.tsx'

interface Props {
  list: List
  /** The values of the path's parameters. */
  values: Record<string, string>
  path: string
  query: URLSearchParams
  /** A change loads the list again. */
  round?: number
  /** Adds fields to an item that are shown as columns. */
  shape?: (row: any) => any
  /** What a page made by hand shows above the filters, of the shown items. */
  children?: (rows: any[]) => ComponentChildren
}

/** A page of the list, which is loaded again while one of its items is about to change by itself. */
function useRows(list: List, input: Input, key: string, shape?: Props['shape']): Loaded<any> {
  const page = useLoaded<any>(async () => {
    const include = list.include === undefined ? {} : { include: list.include }
    const { data } = await call(list.operation, { ...input, query: { ...include, ...input.query } })
    if (shape !== undefined) data.data = data.data.map(shape)
    remember(list, data.data)
    // With their names, so that nothing moves when these arrive.
    const shown = list.columns.map(({ name }) => name)
    await learn(data.data.map((row: any) => Object.fromEntries(shown.map((name) => [name, row[name]]))))
    remember(list, data.data)
    return data
  }, key)
  usePolling(page.value?.data.some(({ status }: any) => isWaiting(status)) === true, page.reload)
  return page
}

export function ListPage({ list, values, path, query, round = 0, shape, children }: Props) {
  // The newest first, also where the contract's default is the other way round.
  const taken = [...query].filter(([name]) => !isForConsole(list, name))
  const sent = {
    ...(list.ordered && { order: 'desc' }),
    ...createdIn(query.get(timeName)),
    ...Object.fromEntries(taken),
  }
  const input = { path: values, query: sent }
  const page = useRows(list, input, `${path}?${query}#${round}`, shape)
  const total: number | undefined = page.value?.pagination?.total
  const next: string | null | undefined = page.value?.pagination?.next_cursor ?? page.value?.next_cursor
  const go = goFrom(path, query)
  const { columns, menu } = useView(list)
  return (
    <section>
      <header>
        <h1>
          {list.title} <small class="soft">{total}</small>
        </h1>
        {menu}
        <Create
          {...{ list, values }}
          defaults={Object.fromEntries([...query].filter(([, value]) => value !== '*'))}
          isOpened={query.has('new')}
          onClosed={() => goFrom(path, query, { replace: true })({ new: null })}
          reload={page.reload}
        />
      </header>
      <PlaceNote list={list} />
      {children?.(page.value?.data ?? [])}
      <Filters filters={[...list.filters, ...timesOf(list)]} query={query} go={go} />
      <Rows page={page} {...{ values, query, go }} list={{ ...list, columns }} />
      {page.value !== null && <Pages {...{ query, go }} next={page.value.has_more === false ? null : next} />}
    </section>
  )
}

type Options = Parameters<typeof navigate>[1]

/** Changes the filters, the sorting or the page of a list in the address. */
export const goFrom =
  (path: string, query: URLSearchParams, options: Options = { scrolls: false }): Go =>
  (changes) => {
    const changed = new URLSearchParams(query)
    for (const [name, value] of Object.entries(changes))
      if (value === null || value === '') changed.delete(name)
      else changed.set(name, value)
    navigate(href(path, changed), options)
  }

interface PagesProps {
  query: URLSearchParams
  /** The cursor of the next page. */
  next: string | null | undefined
  go: Go
}

export function Pages({ query, next, go }: PagesProps) {
  return (
    <nav class="pages" aria-label="Pages">
      {query.has('cursor') && (
        <button type="button" onClick={() => history.back()}>
          Previous
        </button>
      )}
      {typeof next === 'string' && (
        <button type="button" onClick={() => go({ cursor: next })}>
          Next
        </button>
      )}
    </nav>
  )
}

/** A list that is sorted by the time of creation is also filtered by it. */
const timesOf = ({ sort }: List): ConsoleField[] => (sort.includes('created_at') ? [timeField] : [])

/** The chosen project is no filter of every list. */
export const isForConsole = (list: List, name: string): boolean =>
  name === 'new' ||
  name === timeName ||
  (placeNames.some((each) => each === name) && !list.filters.some((filter) => filter.name === name))

interface InnerProps extends Pick<Props, 'list' | 'values'> {
  /** The resource. */
  owner: any
  /** Default: that of the list. */
  title?: string
  /** Filters of the list, which are also the first values of its form. */
  filter?: Record<string, string>
  /** A change loads the list again. */
  round: number
  /** Once the list, or the reason why there is none, is there. */
  onReady: () => void
}

/** The first items of a list inside of a resource. */
export function InnerList({ list, title, values, owner, filter = {}, round, onReady }: InnerProps) {
  const path = fill(list.path, values)
  const query = { limit: 5, ...(list.ordered && { order: 'desc' }), ...filter }
  const page = useRows(list, { path: values, query }, `${path}#${round}`)
  const isReady = page.value !== null || page.failure !== null
  useOnReady(isReady, onReady)
  return (
    <section class="inner">
      <header>
        <h2>
          <a href={href(path)}>{title ?? list.title}</a>
        </h2>
        {(list.create === null || isPossible(list.create, owner)) && (
          <Create {...{ list, values }} defaults={filter} isInner reload={page.reload} />
        )}
      </header>
      <Rows page={page} {...{ list, values }} query={new URLSearchParams()} go={null} />
    </section>
  )
}

interface CreateProps extends Pick<Props, 'list' | 'values'> {
  /** The filters of the list are the first values of the form. */
  defaults?: Record<string, string>
  /** Whether the address opens the form. */
  isOpened?: boolean
  /** Takes that out of the address. */
  onClosed?: () => void
  /** Whether it is not the main action of the page. */
  isInner?: boolean
  reload: () => void
}

function Create({
  list,
  values,
  defaults,
  isOpened = false,
  onClosed,
  isInner = false,
  reload,
}: CreateProps) {
  const [open, setOpen] = useState(false)
  if (!isAllowed(list.create)) return null
  return (
    <>
      <button type="button" class={isInner ? undefined : 'main'} onClick={() => setOpen(true)}>
        Create
      </button>
      {(open || isOpened) && (
        <CreateDialog
          operation={list.create}
          values={values}
          defaults={defaults}
          onClose={() => {
            setOpen(false)
            if (isOpened) onClosed!()
          }}
          onCreated={(created) => {
            const item = pathOfCreated(list, created, values)
            if (item === null) reload()
            else navigate(href(item))
          }}
        />
      )}
    </>
  )
}

type RowsProps = Omit<TableProps, 'rows' | 'busy' | 'reload'> & { page: Loaded<any> }

function Rows({ page, ...props }: RowsProps) {
  if (page.failure !== null) return <Problem failure={page.failure} retry={page.reload} />
  if (page.value === null) return <Skeleton />
  return <Table {...props} rows={page.value.data} busy={page.loading} reload={page.reload} />
}

interface TableProps {
  list: List
  values: Record<string, string>
  query: URLSearchParams
  /** Null if the list is not sorted by its columns. */
  go: Go | null
  rows: any[]
  busy: boolean
  reload: () => void
}

function Table({ list, values, query, go, rows, busy, reload }: TableProps) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const { remove = null, removes: verb = 'Delete' } =
    model.details.find(({ path }) => path === list.item) ?? {}
  const canRemove = go !== null && isAllowed(remove) && rows.every(({ id }) => typeof id === 'string')
  // A poll replaces the rows: those that are still there stay selected.
  useEffect(
    () => setSelected((before) => new Set(rows.map(({ id }) => id).filter((id) => before.has(id)))),
    [rows],
  )
  if (rows.length === 0) return <Empty {...{ list, values, query }} isWhole={go !== null} />
  const toggle = (id: string): void => {
    const changed = new Set(selected)
    if (!changed.delete(id)) changed.add(id)
    setSelected(changed)
  }
  return (
    <>
      {selected.size > 0 && (
        <Selected
          {...{ list, values, verb, remove: remove! }}
          rows={rows.filter(({ id }) => selected.has(id))}
          onDone={reload}
          onClear={() => setSelected(new Set())}
        />
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label={list.title} aria-busy={busy}>
        <table class={rowsClass()} onKeyDown={(event) => moveRow(event, canRemove ? toggle : null)}>
          <thead>
            <tr>
              {canRemove && (
                <th scope="col" class="check">
                  <span class="hidden">Selected</span>
                </th>
              )}
              {list.columns.map((column) => (
                <th
                  key={column.name}
                  scope="col"
                  class={column.kind}
                  aria-sort={go === null ? undefined : sortOf(list, query, column.name)}
                >
                  {go !== null && list.sort.includes(column.name) ? (
                    <button type="button" class="plain" onClick={() => go(sorted(query, column.name))}>
                      {shownTitle(column)}
                    </button>
                  ) : (
                    shownTitle(column)
                  )}
                </th>
              ))}
              <th scope="col" class="end">
                <span class="hidden">ID</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <tr key={row.id ?? i} data-id={row.id} class={selected.has(row.id) ? 'selected' : undefined}>
                {canRemove && (
                  <td class="check">
                    <input
                      type="checkbox"
                      aria-label={`Select ${leadOf(list, row)}`}
                      checked={selected.has(row.id)}
                      onChange={() => toggle(row.id)}
                    />
                  </td>
                )}
                {list.columns.map((column, n) => (
                  <td
                    key={column.name}
                    class={`${column.kind}${n === 0 ? ' lead' : ''}`}
                    data-title={shownTitle(column)}
                  >
                    {n === 0 ? (
                      <Lead {...{ list, values, row, column }} />
                    ) : (
                      <Value field={column} value={valueAt(row, column.name)} item={row} />
                    )}
                  </td>
                ))}
                <td class="end">{typeof row.id === 'string' && <CopyId id={row.id} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

type EmptyProps = Pick<Props, 'list' | 'values' | 'query'> & { isWhole: boolean }

/**
 * Says that a list is empty, and leads to the items outside of the chosen project or organization, if there
 * are some. Without a choice, lists with the filter `project_id=*` have only the items outside of projects.
 */
function Empty({ list, values, query, isWhole }: EmptyProps) {
  const isFiltered = [...query.keys()].some((name) => !placeNames.some((each) => each === name))
  const chosen = placeNames.find((name) => name in placeIn(query) && !isForConsole(list, name))
  const all: Record<string, string> = takesAllProjects(list) ? { project_id: '*' } : {}
  const isAll =
    new URLSearchParams(all).get('project_id') === query.get('project_id') && chosen !== 'organization_id'
  const others = useLoaded(async () => {
    if (!isWhole || isFiltered || isAll) return false
    return (await call(list.operation, { path: values, query: { ...all, limit: 1 } })).data.data.length > 0
  }, `${query}`)
  if (isWhole && others.value === null && others.failure === null) return <Skeleton />
  const where = chosen !== undefined ? ' here' : others.value === true ? ' outside of projects' : ''
  return (
    <div class="empty">
      <p>
        {isFiltered
          ? 'Nothing matches. Remove a filter to see more.'
          : `There are no ${list.title.toLowerCase()}${where} yet.`}
      </p>
      {others.value === true && (
        <p>
          There are others. <a href={href(fill(list.path, values), all, {})}>Show all that you can see</a>
        </p>
      )}
    </div>
  )
}

/** Says that a list is not of the chosen project or organization alone. */
export function PlaceNote({ list }: { list: List }) {
  const [name] = Object.keys(currentPlace())
  if (name === undefined || list.path.includes('{') || list.filters.some((filter) => filter.name === name))
    return null
  return (
    <p class="soft">
      These are of your whole account, not only of the chosen{' '}
      {name === 'project_id' ? 'project' : 'organization'}.
    </p>
  )
}

/** j and k move between the rows; x selects one. */
function moveRow(event: KeyboardEvent, toggle: ((id: string) => void) | null): void {
  const target = event.target as HTMLElement
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches('input:not([type=checkbox])')) return
  const row = target.closest('tbody tr')
  const id = row?.getAttribute('data-id')
  const step = { j: 'nextElementSibling', k: 'previousElementSibling' } as const
  if (event.key === 'x' && id && toggle !== null) toggle(id)
  else if (event.key === 'j' || event.key === 'k')
    row?.[step[event.key]]?.querySelector<HTMLElement>('.lead a, a, button')?.focus()
  else return
  event.preventDefault()
}

interface SelectedProps extends Pick<Props, 'list' | 'values'> {
  rows: any[]
  /** The operation that deletes one item. */
  remove: string
  verb: string
  onDone: () => void
  onClear: () => void
}

/** What is done with the selected rows: each is deleted by a request of its own. */
function Selected({ list, values, rows, remove, verb, onDone, onClear }: SelectedProps) {
  const [isAsked, setIsAsked] = useState(false)
  const bulk = useBulk<any>(
    async (row) => {
      const own = Object.entries(list.keys).map(([name, field]) => [name, row[field]])
      await call(remove, { path: { ...values, ...Object.fromEntries(own) } })
    },
    (row) => leadOf(list, row),
  )
  async function run(): Promise<void> {
    await bulk.run(rows)
    setIsAsked(false)
    // After a failure, too: the rows before it are deleted.
    onDone()
  }
  return (
    <div class="selection">
      <span role="status">{rows.length} selected</span>
      <button type="button" class="remove" onClick={() => setIsAsked(true)}>
        {verb}
      </button>
      <button type="button" onClick={onClear}>
        Clear
      </button>
      {!isAsked && bulk.shown}
      {isAsked && (
        <Dialog
          title={`${verb} ${rows.length} ${list.title.toLowerCase()}?`}
          onClose={() => setIsAsked(false)}
        >
          <ul>
            {rows.map((row) => (
              <li key={row.id}>{leadOf(list, row)}</li>
            ))}
          </ul>
          {bulk.shown}
          <footer>
            <button type="button" class="remove" disabled={bulk.isBusy} onClick={() => void run()}>
              {verb}
            </button>
          </footer>
        </Dialog>
      )}
    </div>
  )
}

const leadOf = (list: List, row: any): string => {
  const column = list.columns[0]
  const text = textOf(column, valueAt(row, column.name), row, nameOf)
  return text === '' ? String(row.id) : text
}

/** The first column leads to the item. */
function Lead({
  list,
  values,
  row,
  column,
}: {
  list: List
  values: Record<string, string>
  row: any
  column: ConsoleField
}) {
  const path = pathOfItem(list, row, values)
  if (path === null) return <Value field={column} value={valueAt(row, column.name)} item={row} />
  const text = leadOf(list, row)
  return <a href={href(path)}>{text.length > 80 ? `${text.slice(0, 80)}…` : text}</a>
}

const isAscending = (query: URLSearchParams): boolean => query.get('order') === 'asc'

function sortOf(list: List, query: URLSearchParams, name: string): 'ascending' | 'descending' | 'none' {
  if ((query.get('sort') ?? list.sort[0]) !== name) return 'none'
  return isAscending(query) ? 'ascending' : 'descending'
}

const sorted = (query: URLSearchParams, name: string): Record<string, string | null> => ({
  sort: name,
  order: query.get('sort') === name && isAscending(query) ? 'desc' : 'asc',
  cursor: null,
})
