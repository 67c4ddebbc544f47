// The requests of this process that wait for the lease of an upload. They wait for its release in memory; the
// database is asked again only now and then, for a holder in another process or one that crashed.

/** Requests that wait for one upload. A client needs one, and another for each connection that it lost. */
const maxWaiters = 8
/** Milliseconds until a waiting request asks the database again. */
const recheckMs = { heldHere: 3_000, heldElsewhere: 500 }

interface Line {
  /** The leases that requests of this process hold. More than one if a lease expired. */
  holders: number
  /** Wakes a waiting request. */
  waiters: Set<() => void>
}

/** By upload id. An upload without holders and waiters has no line. */
const lines = new Map<string, Line>()

/** A place among the waiting requests. */
export interface Waiter {
  /** Waits for the release of the lease, but not longer than a lease may be held by a crashed process. */
  wait(): Promise<void>
  leave(): void
}

/** @returns null if enough requests wait already. */
export function joinWaiters(id: string): Waiter | null {
  const line = lineOf(id)
  if (line.waiters.size >= maxWaiters) return null
  // A release while the request asks the database counts for the next wait.
  let released = Promise.withResolvers<void>()
  const wake = (): void => released.resolve()
  line.waiters.add(wake)
  return {
    async wait() {
      const timer = setTimeout(wake, line.holders > 0 ? recheckMs.heldHere : recheckMs.heldElsewhere)
      await released.promise
      clearTimeout(timer)
      released = Promise.withResolvers()
    },
    leave() {
      line.waiters.delete(wake)
      removeEmpty(id, line)
    },
  }
}

/** Counts a lease that a request of this process holds. @returns a function that releases it. */
export function addHolder(id: string): () => void {
  const line = lineOf(id)
  line.holders++
  return () => {
    line.holders--
    removeEmpty(id, line)
    for (const wake of line.waiters) wake()
  }
}

export function hasWaiters(id: string): boolean {
  return (lines.get(id)?.waiters.size ?? 0) > 0
}

function lineOf(id: string): Line {
  const line = lines.get(id) ?? { holders: 0, waiters: new Set() }
  lines.set(id, line)
  return line
}

function removeEmpty(id: string, { holders, waiters }: Line): void {
  if (holders === 0 && waiters.size === 0) lines.delete(id)
}
