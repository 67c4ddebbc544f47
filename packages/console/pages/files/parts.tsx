// Parts of the panel: an ID or address that is copied, a lifetime, and work with its error.
import { useState } from 'preact/hooks'
import { failureOf, type Failure } from '../../session.ts'
import { useCopy } from '../../value.tsx'

/** Copies a text by a click. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const { said, ...handlers } = useCopy(text)
  return (
    <button type="button" class="plain copy" aria-label={`${label}: ${text}`} title={label} {...handlers}>
      <code>{text}</code>
      {said && <span class="soft"> {said}</span>}
    </button>
  )
}

/** What a part of the panel does, with its error. */
export function useWork(): {
  failure: Failure | null
  busy: boolean
  run: (work: () => Promise<unknown>) => void
} {
  const [failure, setFailure] = useState<Failure | null>(null)
  const [busy, setBusy] = useState(false)
  const run = (work: () => Promise<unknown>): void => {
    setFailure(null)
    setBusy(true)
    work()
      .catch((error) => setFailure(failureOf(error)))
      .finally(() => setBusy(false))
  }
  return { failure, busy, run }
}

const lifetimes: Array<[string, number]> = [
  ['1 hour', 3_600],
  ['1 day', 86_400],
  ['7 days', 604_800],
  ['30 days', 2_592_000],
  ['1 year', 31_536_000],
]

export function Lifetime() {
  return (
    <label>
      Works for
      <select name="lifetime">
        {lifetimes.map(([title, seconds]) => (
          <option key={seconds} value={seconds} selected={seconds === 86_400}>
            {title}
          </option>
        ))}
      </select>
    </label>
  )
}

/** An address that the server shows only once. */
export function NewAddress({ url }: { url: string }) {
  return (
    <div class="new-address" role="status">
      <strong>Copy the link now. It is shown only once.</strong>
      <CopyButton text={url} label="Copy the link" />
    </div>
  )
}

export const numberOf = (form: FormData, name: string): number | null => {
  const text = String(form.get(name) ?? '').trim()
  return text === '' ? null : Number(text)
}
