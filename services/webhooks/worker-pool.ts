// A worker pool: fetches due jobs as its slots become free. The webhook worker runs one pool for each kind of
// delivery.
//
// One slow endpoint must not delay the deliveries to other endpoints. Three rules see to that:
// - A job that runs for longer than `slowAfterMs` becomes slow and gives up its slot, so a pool full of slow
//   jobs still fetches new ones. There may be `slowSlots` slow jobs; each slow job beyond that occupies a
//   slot again.
// - One owner may have a quarter of the slow slots. While an owner has that share, `run` must not start
//   further jobs of the owner: the webhook worker moves them to its pool for slow endpoints.
// - While an owner has that share, `fetch` skips the owner's slow endpoints, so their jobs stay in the queue.
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import type { SlowEndpoints } from './slow-endpoints.ts'

/**
 * The owner of a job, and the group of the queue that it belongs to. For a delivery: the user and the
 * endpoint.
 */
export interface JobOwner {
  owner: string
  group: string
}

export interface RunningJob {
  done: Promise<void>
  /** null for work that belongs to no owner, such as moving jobs to another pool. */
  source: JobOwner | null
}

export interface WorkerPoolOptions<Job> {
  /** Fetches at most `count` due jobs from the queue, from all groups except some. */
  fetch(count: number, exceptGroups: string[]): Promise<Job[]>
  /**
   * Starts jobs, except the jobs of an owner who has the full share of slow jobs.
   * @param signal aborts when the jobs must end because of a stop.
   * @returns the work that was started.
   */
  run(jobs: Job[], hasShare: (owner: string) => boolean, signal: AbortSignal): Promise<RunningJob[]>
  /** Shared by the pools that work for the same owners. */
  slowEndpoints: SlowEndpoints
  /** Jobs that run at once, not counting the slow jobs that gave up their slot. */
  slots: number
  /** Slow jobs that may run at once without a slot. */
  slowSlots: number
  /** Milliseconds after which a running job is slow. */
  slowAfterMs: number
  /** Milliseconds between two polls of the queue when the pool is not woken. */
  interval: number
  /** Milliseconds that running jobs have to finish after a stop. */
  drainTimeoutMs: number
  onError: (error: Error) => void
}

const minFetch = 10
const maxFetch = 100
/**
 * The part of the slow slots that one owner may use. Jobs of the owner that were already running can become
 * slow, too, but there are no more of them than slots, so one owner alone never has all slow slots.
 */
const maxShare = 1 / 4

/** Pause after an empty fetch: ten times its duration, but at most 250 ms, or its duration if longer. */
function pauseAfter(milliseconds: number): number {
  return Math.min(10 * milliseconds, Math.max(milliseconds, 250))
}

export class WorkerPool<Job> implements BackgroundWorker {
  readonly #options: WorkerPoolOptions<Job>
  readonly #loop: WorkerLoop
  /** Running jobs that have a slot. */
  #quickJobs = 0
  /** Running jobs that became slow. */
  #slowJobs = 0
  /** Whether a job has ended since the last fetch, so that its group may have another one. */
  #hasEnded = false
  /** The end of the pause after an empty fetch. The end of a job ends it earlier. */
  #pausedUntil = 0
  /** Wakes the pool at the end of the pause. */
  #pauseTimer: NodeJS.Timeout | undefined
  /** How many jobs the next fetch asks for. */
  #nextCount = minFetch
  /** The number of slow jobs by owner. */
  readonly #slowJobsOf = new Map<string, number>()

  constructor(options: WorkerPoolOptions<Job>) {
    const { onError, interval, drainTimeoutMs } = options
    this.#options = options
    this.#loop = new WorkerLoop({ poll: () => this.#poll(), onError, interval, drainTimeoutMs })
  }

  /** Call this when a job may be due: the pool fetches without waiting for the next poll. */
  wake(): void {
    this.#loop.wake()
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    clearTimeout(this.#pauseTimer)
  }

  /**
   * A fetch reads over the waiting jobs of full groups, however many there are. After a fetch that found
   * fewer jobs than it asked for, the pool pauses for as long as the fetch took. After an empty fetch, it
   * pauses until a job ends, or for the time of `pauseAfter`. A fetch asks for twice as many jobs as the last
   * one found, because it locks that many before it leaves out those of full groups.
   */
  async #poll(): Promise<boolean> {
    const { slots, slowSlots, interval } = this.#options
    const free = Math.min(maxFetch, slots - this.#quickJobs - Math.max(0, this.#slowJobs - slowSlots))
    if (free <= 0) return false
    const startedAt = performance.now()
    if (!this.#hasEnded && startedAt < this.#pausedUntil) {
      clearTimeout(this.#pauseTimer)
      // A timer may fire up to a millisecond early.
      this.#pauseTimer = setTimeout(() => this.wake(), this.#pausedUntil - startedAt + 1)
      return false
    }
    this.#hasEnded = false
    const count = Math.min(free, this.#nextCount)
    const jobs = await this.#options.fetch(count, this.#skippedGroups())
    this.#nextCount = Math.max(minFetch, 2 * jobs.length)
    if (jobs.length > 0) this.#track(this.#startJobs(jobs), jobs.length)
    if (jobs.length === count) return true
    const took = performance.now() - startedAt
    if (jobs.length === 0) {
      this.#pausedUntil = performance.now() + pauseAfter(took)
      return false
    }
    if (!this.#loop.isStopping) await sleep(Math.min(took, interval))
    return true
  }

  async #startJobs(jobs: Job[]): Promise<void> {
    const hasShare = (owner: string): boolean => this.#hasShare(owner)
    for (const { done, source } of await this.#options.run(jobs, hasShare, this.#loop.signal))
      this.#track(
        done.finally(() => (this.#hasEnded = true)),
        1,
        source,
      )
  }

  #hasShare(owner: string): boolean {
    return (this.#slowJobsOf.get(owner) ?? 0) >= this.#options.slowSlots * maxShare
  }

  /** The slow groups of the owners who have their full share. */
  #skippedGroups(): string[] {
    return [...this.#slowJobsOf.keys()]
      .filter((owner) => this.#hasShare(owner))
      .flatMap(this.#options.slowEndpoints.groupsOf)
  }

  /** Counts `jobs` as quick, after `slowAfterMs` as slow, until `work` is done. */
  #track(work: Promise<void>, jobs: number, source: JobOwner | null = null): void {
    const { slowEndpoints, slowAfterMs } = this.#options
    let isSlow = false
    this.#quickJobs += jobs
    const timer = setTimeout(() => {
      isSlow = true
      this.#quickJobs -= jobs
      this.#slowJobs += jobs
      if (source !== null) this.#addSlowJob(source)
      this.wake()
    }, slowAfterMs)
    const finished = work.finally(() => {
      clearTimeout(timer)
      if (isSlow) this.#slowJobs -= jobs
      else this.#quickJobs -= jobs
      if (source !== null && isSlow) this.#removeSlowJob(source)
      if (source !== null && !isSlow) slowEndpoints.clear(source.owner, source.group)
    })
    this.#loop.track(finished)
  }

  #addSlowJob({ owner, group }: JobOwner): void {
    this.#slowJobsOf.set(owner, (this.#slowJobsOf.get(owner) ?? 0) + 1)
    this.#options.slowEndpoints.add(owner, group)
  }

  #removeSlowJob({ owner }: JobOwner): void {
    const left = this.#slowJobsOf.get(owner)! - 1
    if (left > 0) this.#slowJobsOf.set(owner, left)
    else this.#slowJobsOf.delete(owner)
    this.#options.slowEndpoints.remove(owner)
  }
}
