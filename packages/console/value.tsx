// How values look.
import type { ComponentChildren } from 'preact'
import type { ConsoleField } from './model-types.ts'
import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { pathOfId, shownTitle } from './model.ts'
import { nameOf } from './names.ts'
import { href } from './router.ts'

const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const numbers = new Intl.NumberFormat()

export const exactTime = (time: string): string => times.format(new Date(time))
export const count = (value: number): string => numbers.format(value)
const good = new Set([
  'active',
  'paid',
  'succeeded',
  'completed',
  'complete',
  'ready',
  'delivered',
  'accepted',
])
const bad = new Set([
  'failed',
  'retrying',
  'canceled',
  'cancelled',
  'disabled',
  'revoked',
  'expired',
  'past_due',
  'unpaid',
  'deleted',
])
const waiting = new Set([
  'pending',
  'sending',
  'processing',
  'queued',
  'open',
  'running',
  'incomplete',
  'trialing',
  'paused',
  'indexing',
  'in_progress',
])

/** Whether a resource with this status is about to change by itself. */
export const isWaiting = (status: unknown): boolean => waiting.has(status as string)

/** @param item the resource, for values that need another field, such as the currency of an amount. */
export function Value({ field, value, item }: { field: ConsoleField; value: any; item: any }) {
  if (value === null || value === undefined || value === '') return <span class="soft">–</span>
  switch (field.kind) {
    case 'time':
      return <Time value={value} />
    case 'bytes':
      return <>{bytes(value)}</>
    case 'money':
      return <>{money(value, item?.currency)}</>
    case 'number':
      return <>{count(value)}</>
    case 'boolean':
      return <>{value ? 'Yes' : 'No'}</>
    case 'choice':
      return <State value={String(value)} />
    case 'choices':
    case 'texts':
      return <>{value.length === 0 ? <span class="soft">–</span> : value.join(', ')}</>
    case 'id':
      return <Id value={value} />
    case 'url':
      return <Url value={value} />
    case 'object':
      return <Fields fields={field.fields ?? []} item={value} />
    case 'objects':
      return <Objects field={field} items={value} currency={item?.currency} />
    case 'json':
      return typeof value === 'object' ? <Json value={value} /> : <>{String(value)}</>
    default:
      return pathOfId(String(value)) === null ? <>{String(value)}</> : <Id value={value} />
  }
}

/** The fields that are set, and the names of the others in one line. */
export function Fields({ fields, item }: { fields: ConsoleField[]; item: any }) {
  const unset = fields.filter(({ name }) => isEmpty(item[name]))
  return (
    <dl>
      {fields
        .filter((field) => !unset.includes(field))
        .map((field) => (
          <div key={field.name}>
            <dt>{shownTitle(field)}</dt>
            <dd>
              <Value field={field} value={item[field.name]} item={item} />
            </dd>
          </div>
        ))}
      {unset.length > 0 && (
        <div>
          <dt>Not set</dt>
          <dd class="soft">{unset.map(shownTitle).join(', ')}</dd>
        </div>
      )}
    </dl>
  )
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === null || value === undefined || value === ''
}

function Objects({ field, items, currency }: { field: ConsoleField; items: any[]; currency?: string }) {
  if (items.length === 0) return <span class="soft">–</span>
  const shown = field.fields!.filter(({ name }) => items.some((item) => (item[name] ?? null) !== null))
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={field.title}>
      <table>
        <thead>
          <tr>
            {shown.map((inner) => (
              <th key={inner.name} scope="col" class={inner.kind}>
                {shownTitle(inner)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, i) => (
            <tr key={i}>
              {shown.map((inner) => (
                <td key={inner.name} class={inner.kind}>
                  <Value field={inner} value={item[inner.name]} item={{ currency, ...item }} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Url({ value }: { value: string }) {
  if (!/^https?:/.test(value)) return <>{value}</>
  return (
    <a href={value} target="_blank" rel="noopener noreferrer">
      {value}
    </a>
  )
}

function Json({ value }: { value: object }) {
  const entries = Object.entries(value)
  if (entries.length === 0) return <span class="soft">–</span>
  const isFlat = !Array.isArray(value) && entries.every(([, each]) => typeof each !== 'object')
  if (isFlat)
    return (
      <>
        {entries.map(([name, each]) => (
          <div key={name}>
            <span class="soft">{name}:</span> {String(each)}
          </div>
        ))}
      </>
    )
  return (
    // The region scrolls, so the keyboard must reach it.
    <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
  )
}

/** A reference: the name of the resource, if it is known. */
export function Id({ value }: { value: string }) {
  const path = pathOfId(value)
  const name = nameOf(value)
  const text = name === undefined ? <code>{value}</code> : name
  return path === null ? (
    <span title={value}>{text}</span>
  ) : (
    <a href={href(path)} title={value}>
      {text}
    </a>
  )
}

/** Browsers offer the clipboard only over HTTPS; the old command also works over HTTP. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const put = (event: ClipboardEvent): void => {
      event.clipboardData!.setData('text/plain', text)
      event.preventDefault()
    }
    document.addEventListener('copy', put)
    const isDone = document.execCommand('copy')
    document.removeEventListener('copy', put)
    return isDone
  }
}

/** The text of a copy button after a click, and its handlers. */
export function useCopy(text: string): { said?: string; onClick: () => void; onBlur: () => void } {
  const [said, setSaid] = useState<string>()
  return {
    said,
    onClick: () => void copied(text).then((isDone) => setSaid(isDone ? 'Copied' : 'Not copied')),
    onBlur: () => setSaid(undefined),
  }
}

/** Copies an ID. @param isShown whether the ID stands beside the icon. */
export function CopyId({ id, isShown = false }: { id: string; isShown?: boolean }) {
  const { said = id, ...handlers } = useCopy(id)
  return (
    <button type="button" class="plain copy-id" aria-label={`Copy ${id}`} title={said} {...handlers}>
      {isShown && <code>{id}</code>} <Icon name={said === 'Copied' ? 'check' : 'copy'} />
    </button>
  )
}

/** A value as a text, for the link to an item and for its check box. */
export function textOf(
  field: ConsoleField,
  value: any,
  item: any,
  nameOf: (id: string) => string | undefined,
): string {
  if (value === null || value === undefined) return ''
  if (field.kind === 'money') return money(value, item?.currency)
  if (field.kind === 'bytes') return bytes(value)
  if (field.kind === 'time') return exactTime(value)
  if (field.kind === 'object')
    return Object.values(value)
      .filter((each) => typeof each !== 'object')
      .join(' ')
  return nameOf(String(value)) ?? String(value)
}

/** A value of any kind as a text. */
export const plainText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

export function State({ value }: { value: string }) {
  const kind = good.has(value) ? 'good' : bad.has(value) ? 'bad' : waiting.has(value) ? 'waiting' : ''
  return <span class={`state ${kind}`}>{value.includes('.') ? value : value.replaceAll('_', ' ')}</span>
}

/** @param about what stands between the type and the time of an event. */
export function EventList({ events, about }: { events: any[]; about?: (event: any) => ComponentChildren }) {
  return (
    <ul class="events">
      {events.map((event) => (
        <li key={event.id}>
          <a href={href(`/events/${event.id}`)}>{event.type}</a>
          {about?.(event)}
          <Time value={event.created_at} />
        </li>
      ))}
    </ul>
  )
}

export function Time({ value }: { value: string }) {
  const date = new Date(value)
  return (
    <time dateTime={value} title={exactTime(value)}>
      {relative(date)}
    </time>
  )
}

const units: Array<[Intl.RelativeTimeFormatUnit, number]> = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

function relative(date: Date): string {
  const seconds = (date.getTime() - Date.now()) / 1000
  for (const [unit, size] of units)
    if (Math.abs(seconds) >= size) return ago.format(Math.round(seconds / size), unit)
  return ago.format(Math.round(seconds), 'second')
}

export function bytes(value: number): string {
  const names = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']
  const i = value < 1000 ? 0 : Math.min(names.length - 1, Math.floor(Math.log10(value) / 3))
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: names[i],
    unitDisplay: i === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  }).format(value / 1000 ** i)
}

/** @param value in the smallest unit of the currency. */
export function money(value: number, currency: string | undefined): string {
  if (currency === undefined) return count(value)
  return formatOf(currency).format(value / 10 ** digitsOf(currency))
}

const formatOf = (currency: string): Intl.NumberFormat =>
  new Intl.NumberFormat(undefined, { style: 'currency', currency: currency.toUpperCase() })

/** The decimal places of a currency. */
export const digitsOf = (currency: string): number =>
  formatOf(currency).resolvedOptions().maximumFractionDigits!
