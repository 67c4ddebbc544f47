// A lane of work: takes what is due as its slots become free. Work that makes others wait for long gives its slot up, so
// that a lane full of it still takes what is quick; only how much of it there may be at once is bounded too, and how much
// of one owner's.
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import type { Slowness } from './slow-endpoints.ts'

/** Whose work it is, and which of his groups it belongs to. */
export interface Source {
  owner: string
  group: string
}

/** What is under way. */
export interface Begun {
  done: Promise<void>
  source: Source | null
}

export interface LaneOptions<Job> {
  /** Takes at most so many jobs that are due, of all groups but some. */
  take(count: number, except: string[]): Promise<Job[]>
  /**
   * Starts jobs, except those of owners who have their share of the slow jobs.
   * @param signal aborts when the jobs must end because of a stop.
   * @returns the started work.
   */
  begin(jobs: Job[], hasShare: (owner: string) => boolean, signal: AbortSignal): Promise<Begun[]>
  /** Common to the lanes that work for the same owners. */
  slowness: Slowness
  /** Jobs under way at once, without those that gave their slot up. */
  slots: number
  /** How many may have given it up at once. */
  slow: number
  /** Milliseconds after which a job gives its slot up. */
  patience: number
  /** Milliseconds between two polls of the queue. */
  interval: number
  /** Milliseconds that running jobs have to finish after a stop. */
  drainTimeoutMs: number
  onError: (error: Error) => void
}

const most = 100
/**
 * The part of the slow places from which on nothing more of an owner's begins. What has begun by then may become slow as
 * well, which is no more than there are slots: so one owner alone never has all places.
 */
const share = 1 / 4

export function createLane<Job>({
  take,
  begin,
  slowness,
  slots,
  slow,
  patience,
  interval,
  drainTimeoutMs,
  onError,
}: LaneOptions<Job>): BackgroundWorker {
  /** How many jobs have a slot, and how many gave theirs up. */
  const count = { quick: 0, slow: 0 }
  /** How many of each owner's gave theirs up. */
  const slowOf = new Map<string, number>()
  const loop = new WorkerLoop({ poll, onError, interval, drainTimeoutMs })
  return loop

  async function poll(): Promise<boolean> {
    const free = Math.min(most, slots - count.quick - Math.max(0, count.slow - slow))
    const startedAt = performance.now()
    const jobs = free > 0 ? await take(free, passedOver()) : []
    if (jobs.length > 0) follow(beginning(jobs), jobs.length)
    // A fetch scans the jobs that it skips. Pausing for as long as the fetch took spends at most half of the time on that.
    if (jobs.length < free && !loop.isStopping) await sleep(Math.min(performance.now() - startedAt, interval))
    return jobs.length > 0
  }

  async function beginning(jobs: Job[]): Promise<void> {
    for (const { done, source } of await begin(jobs, hasShare, loop.signal)) follow(done, 1, source)
  }

  function hasShare(owner: string): boolean {
    return (slowOf.get(owner) ?? 0) >= slow * share
  }

  /** The slow groups of owners who have their share: what waits for these stays where it is. */
  function passedOver(): string[] {
    return [...slowOf.keys()].filter(hasShare).flatMap(slowness.groupsOf)
  }

  function slowBegins({ owner, group }: Source): void {
    slowOf.set(owner, (slowOf.get(owner) ?? 0) + 1)
    slowness.begin(owner, group)
  }

  function slowEnds({ owner }: Source): void {
    const left = slowOf.get(owner)! - 1
    if (left > 0) slowOf.set(owner, left)
    else slowOf.delete(owner)
    slowness.end(owner)
  }

  function follow(work: Promise<void>, jobs: number, source: Source | null = null): void {
    let kind: keyof typeof count = 'quick'
    count.quick += jobs
    const timer = setTimeout(() => {
      kind = 'slow'
      count.quick -= jobs
      count.slow += jobs
      if (source !== null) slowBegins(source)
      loop.wake()
    }, patience)
    const finished = work.finally(() => {
      clearTimeout(timer)
      count[kind] -= jobs
      if (source !== null && kind === 'slow') slowEnds(source)
      if (source !== null && kind === 'quick') slowness.clear(source.owner, source.group)
    })
    loop.track(finished)
  }
}
