// A list: its columns, filters, sorting and pages come from the contract; its state is in the address.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { CreateDialog } from './form.tsx'
import type { ConsoleField, ConsoleList } from './model-types.ts'
import { pathOfCreated, pathOfItem, valueAt } from './model.ts'
import { fill, href, navigate } from './router.ts'
import { call, isAllowed, isPossible, type Input } from './session.ts'
import { Code, Problem, Skeleton, useLoaded, usePolling, type Loaded } from './ui.tsx'
import { isWaiting, Value } from './value.tsx'

interface Props {
  list: ConsoleList
  /** The values of the path's parameters. */
  values: Record<string, string>
  path: string
  query: URLSearchParams
  /** A change loads the list again. */
  round?: number
  /** What a page made by hand shows above the filters, of the shown items. */
  children?: (rows: any[]) => ComponentChildren
}

/** A page of the list, which is loaded again while one of its items is about to change by itself. */
function useRows({ operation }: ConsoleList, input: Input, key: string): Loaded<any> {
  const page = useLoaded<any>(async () => (await call(operation, input)).data, key)
  usePolling(page.value?.data.some(({ status }: any) => isWaiting(status)) === true, page.reload)
  return page
}

export function ListPage({ list, values, path, query, round = 0, children }: Props) {
  // The newest first, also where the contract's default is the other way round.
  const sent = { ...(list.ordered && { order: 'desc' }), ...Object.fromEntries(query) }
  const input = { path: values, query: sent }
  const page = useRows(list, input, `${path}?${query}#${round}`)
  const total: number | undefined = page.value?.pagination?.total
  const next: string | null | undefined = page.value?.pagination?.next_cursor ?? page.value?.next_cursor
  const go = (changes: Record<string, string | null>): void => {
    const changed = new URLSearchParams(query)
    for (const [name, value] of Object.entries(changes))
      if (value === null || value === '') changed.delete(name)
      else changed.set(name, value)
    navigate(href(path, changed))
  }
  return (
    <section>
      <header>
        <h1>
          {list.title} {total !== undefined && <small class="soft">{total}</small>}
        </h1>
        <Create {...{ list, values }} defaults={Object.fromEntries(query)} reload={page.reload} />
      </header>
      {children?.(page.value?.data ?? [])}
      <Filters filters={list.filters} query={query} go={go} />
      <Rows page={page} {...{ list, values, query, go }} />
      {page.value !== null && (
        <nav class="pages" aria-label="Pages">
          {query.has('cursor') && (
            <button type="button" onClick={() => history.back()}>
              Previous
            </button>
          )}
          {typeof next === 'string' && page.value.has_more !== false && (
            <button type="button" onClick={() => go({ cursor: next })}>
              Next
            </button>
          )}
        </nav>
      )}
      <Code operation={list.operation} input={input} />
    </section>
  )
}

interface InnerProps extends Pick<Props, 'list' | 'values'> {
  /** The resource. */
  owner: any
  /** A change loads the list again. */
  round: number
}

/** The first items of a list inside of a resource. */
export function InnerList({ list, values, owner, round }: InnerProps) {
  const path = fill(list.path, values)
  const query = { limit: 5, ...(list.ordered && { order: 'desc' }) }
  const page = useRows(list, { path: values, query }, `${path}#${round}`)
  return (
    <section class="inner">
      <header>
        <h2>
          <a href={href(path)}>{list.title}</a>
        </h2>
        {(list.create === null || isPossible(list.create, owner)) && (
          <Create {...{ list, values }} reload={page.reload} />
        )}
      </header>
      <Rows page={page} {...{ list, values }} query={new URLSearchParams()} go={null} />
    </section>
  )
}

interface CreateProps extends Pick<Props, 'list' | 'values'> {
  /** The filters of the list are the first values of the form. */
  defaults?: Record<string, string>
  reload: () => void
}

function Create({ list, values, defaults, reload }: CreateProps) {
  const [open, setOpen] = useState(false)
  if (!isAllowed(list.create)) return null
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen(true)}>
        Create
      </button>
      {open && (
        <CreateDialog
          operation={list.create}
          values={values}
          defaults={defaults}
          onClose={() => setOpen(false)}
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

type RowsProps = Omit<TableProps, 'rows' | 'busy'> & { page: Loaded<any> }

function Rows({ page, ...props }: RowsProps) {
  if (page.failure !== null) return <Problem failure={page.failure} retry={page.reload} />
  if (page.value === null) return <Skeleton />
  return <Table {...props} rows={page.value.data} busy={page.loading} />
}

type Go = (changes: Record<string, string | null>) => void

export function Filters({ filters, query, go }: { filters: ConsoleField[]; query: URLSearchParams; go: Go }) {
  if (filters.length === 0) return null
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        const chosen = Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>
        go({ ...chosen, cursor: null })
      }}
    >
      {filters.map(({ name, title, kind, values }) => (
        <label key={name}>
          {title}
          {values !== undefined || kind === 'boolean' ? (
            <select name={name} onChange={(event) => event.currentTarget.form!.requestSubmit()}>
              {['', ...(values ?? ['true', 'false'])].map((value) => (
                <option value={String(value)} selected={(query.get(name) ?? '') === String(value)}>
                  {value === '' ? 'All' : String(value).replaceAll('_', ' ')}
                </option>
              ))}
            </select>
          ) : (
            <input name={name} type="search" defaultValue={query.get(name) ?? ''} />
          )}
        </label>
      ))}
      <button type="submit">Filter</button>
    </form>
  )
}

interface TableProps {
  list: ConsoleList
  values: Record<string, string>
  query: URLSearchParams
  /** Null if the list is not sorted by its columns. */
  go: Go | null
  rows: any[]
  busy: boolean
}

function Table({ list, values, query, go, rows, busy }: TableProps) {
  if (rows.length === 0)
    return (
      <p class="empty">
        {query.size > 0
          ? 'Nothing matches. Remove a filter to see more.'
          : `There are no ${list.title.toLowerCase()} yet.`}
      </p>
    )
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={list.title} aria-busy={busy}>
      <table>
        <thead>
          <tr>
            {list.columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                class={column.kind}
                aria-sort={go === null ? undefined : sortOf(list, query, column.name)}
              >
                {go !== null && list.sort.includes(column.name) ? (
                  <button type="button" class="plain" onClick={() => go(sorted(query, column.name))}>
                    {column.title}
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={row.id ?? i}>
              {list.columns.map((column, n) => (
                <td key={column.name} class={column.kind}>
                  {n === 0 ? (
                    <Lead {...{ list, values, row, column }} />
                  ) : (
                    <Value field={column} value={valueAt(row, column.name)} item={row} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The first column leads to the item. */
function Lead({
  list,
  values,
  row,
  column,
}: {
  list: ConsoleList
  values: Record<string, string>
  row: any
  column: ConsoleField
}) {
  const path = pathOfItem(list, row, values)
  const value = valueAt(row, column.name)
  if (path === null) return <Value field={column} value={value} item={row} />
  const text = value === null || value === '' || value === undefined ? row.id : String(value)
  return <a href={href(path)}>{text.length > 80 ? `${text.slice(0, 80)}…` : text}</a>
}

const isAscending = (query: URLSearchParams): boolean => query.get('order') === 'asc'

function sortOf(
  list: ConsoleList,
  query: URLSearchParams,
  name: string,
): 'ascending' | 'descending' | 'none' {
  if ((query.get('sort') ?? list.sort[0]) !== name) return 'none'
  return isAscending(query) ? 'ascending' : 'descending'
}

const sorted = (query: URLSearchParams, name: string): Record<string, string | null> => ({
  sort: name,
  order: query.get('sort') === name && isAscending(query) ? 'desc' : 'asc',
  cursor: null,
})
