// A lane of work: takes what is due as its slots become free. Work that makes others wait for long gives its slot up, so
// that a lane full of it still takes what is quick; only how much of it there may be at once is bounded too, and how much
// of one owner's.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SlowEndpoints } from './slow-endpoints.ts'

export interface WorkerPool {
  /** Something may be due. */
  wake(): void
  start(): void
  /** Takes nothing more. What is under way goes on. */
  stop(): Promise<void>
  /** When nothing is under way any more. */
  idle(): Promise<void>
}

/** Whose work it is, and which of his groups it belongs to. */
export interface JobOwner {
  owner: string
  group: string
}

/** What is under way. */
export interface RunningJob {
  done: Promise<void>
  source: JobOwner | null
}

export interface WorkerPoolOptions<Job> {
  /** Takes at most so many jobs that are due, of all groups but some. */
  take(count: number, except: string[]): Promise<Job[]>
  /** Begins jobs, save those of owners who have their share of what is slow. @returns what is under way then. */
  begin(jobs: Job[], hasShare: (owner: string) => boolean): Promise<RunningJob[]>
  /** Common to the lanes that work for the same owners. */
  slowEndpoints: SlowEndpoints
  /** Jobs under way at once, without those that gave their slot up. */
  slots: number
  /** How many may have given it up at once. */
  slow: number
  /** Milliseconds after which a job gives its slot up. */
  patience: number
  /** How often it is looked for jobs even if nothing was said, in ms. */
  interval: number
  onError: (error: Error) => void
}

const most = 100
/**
 * The part of the slow places from which on nothing more of an owner's begins. What has begun by then may become slow as
 * well, which is no more than there are slots: so one owner alone never has all places.
 */
const share = 1 / 4

export function createWorkerPool<Job>({
  take,
  begin,
  slowEndpoints,
  slots,
  slow,
  patience,
  interval,
  onError,
}: WorkerPoolOptions<Job>): WorkerPool {
  const underWay = new Set<Promise<void>>()
  /** How many jobs have a slot, and how many gave theirs up. */
  const count = { quick: 0, slow: 0 }
  /** How many of each owner's gave theirs up. */
  const slowOf = new Map<string, number>()
  let stopped = false
  let woken = false
  let wakeUp = (): void => {}
  let loop: Promise<void> = Promise.resolve()

  return {
    wake,
    start() {
      loop = run()
    },
    async stop() {
      stopped = true
      wake()
      await loop
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }

  function wake(): void {
    woken = true
    wakeUp()
  }

  async function run(): Promise<void> {
    while (!stopped) {
      woken = false
      const free = Math.min(most, slots - count.quick - Math.max(0, count.slow - slow))
      const began = performance.now()
      const jobs = free > 0 ? await taken(free) : []
      if (jobs.length > 0) follow(beginning(jobs), jobs.length)
      // What waits for others of its kind is passed over each time: at most half of the time is spent with that.
      if (jobs.length < free && !stopped) await sleep(Math.min(performance.now() - began, interval))
      if (jobs.length === 0 && !woken && !stopped) await pause(interval)
    }
  }

  async function taken(free: number): Promise<Job[]> {
    try {
      return await take(free, passedOver())
    } catch (error) {
      onError(error as Error)
      if (!stopped) await pause(interval)
      return []
    }
  }

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async function beginning(jobs: Job[]): Promise<void> {
    for (const { done, source } of await begin(jobs, hasShare)) follow(done, 1, source)
  }

  function hasShare(owner: string): boolean {
    return (slowOf.get(owner) ?? 0) >= slow * share
  }

  /** The slow groups of owners who have their share: what waits for these stays where it is. */
  function passedOver(): string[] {
    return [...slowOf.keys()].filter(hasShare).flatMap(slowEndpoints.groupsOf)
  }

  function slowBegins({ owner, group }: JobOwner): void {
    slowOf.set(owner, (slowOf.get(owner) ?? 0) + 1)
    slowEndpoints.begin(owner, group)
  }

  function slowEnds({ owner }: JobOwner): void {
    const left = slowOf.get(owner)! - 1
    if (left > 0) slowOf.set(owner, left)
    else slowOf.delete(owner)
    slowEndpoints.end(owner)
  }

  function follow(work: Promise<void>, jobs: number, source: JobOwner | null = null): void {
    let kind: keyof typeof count = 'quick'
    count.quick += jobs
    const timer = setTimeout(() => {
      kind = 'slow'
      count.quick -= jobs
      count.slow += jobs
      if (source !== null) slowBegins(source)
      wake()
    }, patience)
    const tracked: Promise<void> = work.catch(onError).finally(() => {
      clearTimeout(timer)
      count[kind] -= jobs
      if (source !== null && kind === 'slow') slowEnds(source)
      if (source !== null && kind === 'quick') slowEndpoints.clear(source.owner, source.group)
      underWay.delete(tracked)
      wake()
    })
    underWay.add(tracked)
  }
}
