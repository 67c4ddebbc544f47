// Parts of pages: dialogs, errors, loading states and code samples.
import type { ComponentChild, ComponentChildren, TargetedEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
// Every page has these: with them here, the files of the pages share one file.
import './chart.tsx'
import './lazy.tsx'
import './reference.tsx'
import './value.tsx'
import { requestOf } from './model.ts'
import { fill } from './router.ts'
import { failureOf, type Failure, type Input } from './session.ts'

export { Skeleton } from './skeleton.tsx'

const firstPollMs = 1_000
const lastPollMs = 30_000

/**
 * Reloads while the page is visible and `active`: at first every second, then less and less often. Another
 * value of `active` begins again.
 */
export function usePolling(active: boolean | number, reload: () => void): void {
  const latest = useRef(reload)
  latest.current = reload
  useEffect(() => {
    if (!active) return
    let wait = firstPollMs
    let timer: ReturnType<typeof setTimeout>
    const poll = (): void => {
      if (!document.hidden) latest.current()
      wait = Math.min(lastPollMs, wait * 1.5)
      timer = setTimeout(poll, wait)
    }
    timer = setTimeout(poll, wait)
    return () => clearTimeout(timer)
  }, [active])
}

export type Loaded<T> = { value: T | null; failure: Failure | null; loading: boolean; reload: () => void }

/** Loads at once and whenever `key` changes; keeps the last value while it loads again. */
export function useLoaded<T>(load: () => Promise<T>, key: string): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; failure: Failure | null }>()
  const [round, setRound] = useState(0)
  useEffect(() => {
    let isCurrent = true
    load().then(
      (value) => isCurrent && setState({ key, value, failure: null }),
      (error) => {
        if (!isCurrent) return
        const failure = failureOf(error)
        // Without an answer what is shown may still be right.
        setState((before) => ({
          key,
          value: failure.code === null && before?.key === key ? before.value : null,
          failure,
        }))
      },
    )
    return () => {
      isCurrent = false
    }
  }, [key, round])
  const reload = (): void => setRound((n) => n + 1)
  if (state === undefined) return { value: null, failure: null, loading: true, reload }
  return { ...state, loading: state.key !== key, reload }
}

/** A ref that focuses a new element. An inline function would focus it at every render. */
export const focus = (element: HTMLElement | null): void => element?.focus()

/** Calls `onReady` once, when a part of a page is there. */
export function useOnReady(isReady: boolean, onReady: () => void): void {
  useEffect(() => {
    if (isReady) onReady()
  }, [isReady])
}

/** An error with its way on: the page about its code, and another attempt. */
export function Problem({ failure, retry }: { failure: Failure; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p>{failure.message}</p>
      <p>
        {failure.code !== null && <a href={`/docs/errors#${failure.code}`}>About {failure.code}</a>}
        {failure.requestId !== null && <small class="soft"> Request {failure.requestId}</small>}
      </p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

interface TableProps {
  label: string
  /** The class of the table. */
  kind: string
  /** The headings; an empty one is that of actions at the end. */
  columns: string[]
  rows: any[]
  /** The first cell names the row. */
  cells: (row: any) => ComponentChild[]
  isBusy?: boolean
}

/** A table of a page made by hand, whose rows are cards on narrow screens. */
export function RowTable({ label, kind, columns, rows, cells, isBusy = false }: TableProps) {
  const classOf = (i: number): string | undefined =>
    i === 0 ? 'lead' : columns[i] === '' ? 'end' : undefined
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label} aria-busy={isBusy}>
      <table class={`rows ${kind}`}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column || <span class="hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              {cells(row).map((cell, i) => (
                <td key={i} class={classOf(i)} data-title={columns[i] || undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface SegmentsProps {
  label: string
  /** The values and their texts. */
  options: Array<[value: string, text: string]>
  value: string
  choose: (value: string) => void
}

/** A choice of few that are all visible. */
export function Segments({ label, options, value, choose }: SegmentsProps) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => choose(each)}>
          {text}
        </button>
      ))}
    </div>
  )
}

export function Dialog(props: {
  title: string
  onClose: () => void
  children: ComponentChildren
  /** The class of the dialog. */
  kind?: string
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current!.showModal()
    // Not the button that closes it.
    dialog.current!.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus()
    // The browser returns the focus only for a dialog that is closed before it is removed.
    return () => before?.focus()
  }, [])
  return (
    <dialog ref={dialog} class={props.kind} aria-label={props.title} onClose={props.onClose}>
      <header>
        <h2>{props.title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current!.close()}>
          ✕
        </button>
      </header>
      {props.children}
    </dialog>
  )
}

/** For a `details` that is a drawer on narrow screens: Escape, or a click beside it, closes it. */
export const asDrawer = {
  onClick({ target, currentTarget }: TargetedEvent<HTMLDetailsElement>): void {
    if (target === currentTarget) currentTarget.open = false
  },
  onKeyDown({ key, currentTarget }: TargetedEvent<HTMLDetailsElement, KeyboardEvent>): void {
    if (key !== 'Escape') return
    currentTarget.open = false
    currentTarget.querySelector('summary')!.focus()
  },
}

interface CodeProps {
  operation: string
  input: Input
  /** Whether it stands beside others, and shows which request it is. */
  isNamed?: boolean
  /** What its line says besides. */
  children?: ComponentChildren
}

/** The request of a page or form, for the shell and for the TypeScript client. */
export function Code({ operation, input, isNamed = false, children }: CodeProps) {
  const { method, path } = requestOf(operation)
  return (
    <details class="code">
      <summary>
        {isNamed ? `${method} ${fill(path, input.path ?? {})}` : 'As code'}
        {children}
      </summary>
      <pre tabIndex={0}>{curlOf(operation, input)}</pre>
      <pre tabIndex={0}>{typescriptOf(operation, input)}</pre>
    </details>
  )
}

function curlOf(operation: string, { path = {}, query = {}, body }: Input): string {
  const { method, path: template } = requestOf(operation)
  const search = new URLSearchParams(query as Record<string, string>).toString()
  const url = location.origin + fill(template, path) + (search === '' ? '' : `?${search}`)
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    `-H "Authorization: Bearer $PLATFORM_API_KEY"`,
    ...dataOf(body),
  ].join(' \\\n  ')
}

/** The options of curl for a body: a form if there is a file in it. */
function dataOf(body: unknown): string[] {
  if (body === undefined) return []
  const fields = Object.entries(body as object)
  if (fields.some(([, value]) => value instanceof File))
    return fields.map(([name, value]) => `-F '${name}=${value instanceof File ? `@${value.name}` : value}'`)
  const json = JSON.stringify(body).replaceAll("'", "'\\''")
  return [`-H 'Content-Type: application/json'`, `-d '${json}'`]
}

function typescriptOf(operation: string, { path = {}, query = {}, body }: Input): string {
  const { client, path: template } = requestOf(operation)
  const parameters = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const input = body ?? (Object.keys(query).length > 0 ? query : undefined)
  const values = [...parameters.map((name) => path[name]), ...(input === undefined ? [] : [input])]
  return `await client.${client}(${values.map(literalOf).join(', ')})`
}

/** A file is read from the folder of the script. */
const literalOf = (value: unknown): string =>
  JSON.stringify(value, (_key, each) => (each instanceof File ? `file:${each.name}` : each)).replace(
    /"file:([^"]*)"/g,
    'await fileFrom("$1")',
  )
