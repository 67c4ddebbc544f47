// What is done with several items: one request after another, until the first one is refused.
import type { ComponentChild } from 'preact'
import { useState } from 'preact/hooks'
import { failureOf, type Failure } from './session.ts'
import { Problem } from './ui.tsx'

interface Progress {
  done: number
  of: number
  isBusy: boolean
  /** The item that was refused, after which nothing more was sent. */
  refused: { name: string; failure: Failure } | null
}

interface Bulk<T> {
  isBusy: boolean
  /** @returns whether all were done. */
  run: (items: T[]) => Promise<boolean>
  /** How far it is, and what was refused. */
  shown: ComponentChild
}

/** @param act sends the request of one item. */
export function useBulk<T>(act: (item: T) => Promise<unknown>, nameOf: (item: T) => string): Bulk<T> {
  const [progress, setProgress] = useState<Progress | null>(null)
  async function run(items: T[]): Promise<boolean> {
    const of = items.length
    for (const [done, item] of items.entries()) {
      setProgress({ done, of, isBusy: true, refused: null })
      try {
        await act(item)
      } catch (error) {
        const refused = { name: nameOf(item), failure: failureOf(error) }
        setProgress({ done, of, isBusy: false, refused })
        return false
      }
    }
    setProgress({ done: of, of, isBusy: false, refused: null })
    return true
  }
  const { done, of, isBusy, refused } = progress ?? { isBusy: false }
  return {
    isBusy,
    run,
    shown: progress && (
      <>
        <span role="status">
          {done} of {of}
        </span>
        {refused && (
          <div class="refused">
            Stopped at {refused.name}. <Problem failure={refused.failure} />
          </div>
        )}
      </>
    ),
  }
}
