// The upstreams that serve the same model, in the configured order. One that is down rests, so that requests
// go to the next at once; when its rest ends, one request tries it while the others still pass it over.
import { restAfter } from './backoff.ts'
import { UpstreamFailed, type ProviderFailure } from './errors.ts'

/** Whether an upstream gets requests. */
export class Circuit {
  #failures = 0
  #restsUntil = -Infinity
  readonly #clock: () => number

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** Milliseconds until the upstream may be tried again. Not positive if it may be now. */
  get rest(): number {
    return this.#restsUntil - this.#clock()
  }

  /** Begins a request. After a rest, others pass the upstream over until the request has ended. */
  enter(): void {
    if (this.#failures > 0) this.#restsUntil = Infinity
  }

  answered(): void {
    this.#failures = 0
    this.#restsUntil = -Infinity
  }

  failed(failure: Pick<ProviderFailure, 'retryAfter'>): void {
    // Requests that began together fail together.
    if (this.rest > 0 && this.rest < Infinity) return
    this.#restsUntil = this.#clock() + restAfter(failure, ++this.#failures)
  }

  /** Ends a request that was aborted before it showed whether the upstream is down. */
  left(): void {
    if (this.#restsUntil === Infinity) this.#restsUntil = -Infinity
  }
}

interface Attempt {
  /** Whether no other upstream is left, so that retries are worth their time. */
  isLast: boolean
  /** To be called with the first part of the answer. */
  answered(): void
}

/**
 * Tries the upstreams in order until one answers. All rest: the one that rests the shortest.
 * @throws ApiError, or what else `attempt` throws but UpstreamFailed.
 */
export async function tryInOrder<T extends { circuit: Circuit }, Result>(
  upstreams: T[],
  attempt: (upstream: T, options: Attempt) => Promise<Result>,
): Promise<Result> {
  const ready = upstreams.filter(({ circuit }) => circuit.rest <= 0)
  const candidates =
    ready.length > 0 ? ready : upstreams.toSorted((a, b) => a.circuit.rest - b.circuit.rest).slice(0, 1)
  for (let i = 0; ; i++) {
    const upstream = candidates[i]
    const { circuit } = upstream
    // Meanwhile another request may have found that it is down.
    const isLast = !candidates.slice(i + 1).some((next) => next.circuit.rest <= 0)
    if (!isLast && circuit.rest > 0) continue
    circuit.enter()
    try {
      const result = await attempt(upstream, { isLast, answered: () => circuit.answered() })
      circuit.answered()
      return result
    } catch (error) {
      if (!(error instanceof UpstreamFailed)) {
        circuit.left()
        throw error
      }
      const { failure } = error
      if (failure.elsewhere === 'down') circuit.failed(failure)
      else circuit.answered()
      if (isLast || failure.elsewhere === 'no') throw failure.error
    }
  }
}
