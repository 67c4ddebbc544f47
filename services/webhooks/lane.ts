// A lane of work: takes what is due as its slots become free. Work that makes others wait for long gives its slot up, so
// that a lane full of it still takes what is quick; only how much of it there may be at once is bounded too.
import { setTimeout as sleep } from 'node:timers/promises'

export interface Lane {
  /** Something may be due. */
  wake (): void
  start (): void
  /** Takes nothing more. What is under way goes on. */
  stop (): Promise<void>
  /** When nothing is under way any more. */
  idle (): Promise<void>
}

export interface LaneOptions<Job> {
  /** Takes at most so many jobs that are due. */
  take (count: number): Promise<Job[]>
  /** Begins jobs. @returns a promise for each that is under way then. */
  begin (jobs: Job[]): Promise<Array<Promise<void>>>
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

export function createLane<Job> ({ take, begin, slots, slow, patience, interval, onError }: LaneOptions<Job>): Lane {
  const underWay = new Set<Promise<void>>()
  /** How many jobs have a slot, and how many gave theirs up. */
  const count = { quick: 0, slow: 0 }
  let stopped = false
  let woken = false
  let wakeUp = (): void => {}
  let loop: Promise<void> = Promise.resolve()

  return {
    wake,
    start () { loop = run() },
    async stop () {
      stopped = true
      wake()
      await loop
    },
    async idle () {
      while (underWay.size > 0) await Promise.all(underWay)
    }
  }

  function wake (): void {
    woken = true
    wakeUp()
  }

  async function run (): Promise<void> {
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

  async function taken (free: number): Promise<Job[]> {
    try {
      return await take(free)
    } catch (error) {
      onError(error as Error)
      if (!stopped) await pause(interval)
      return []
    }
  }

  function pause (milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async function beginning (jobs: Job[]): Promise<void> {
    for (const job of await begin(jobs)) follow(job, 1)
  }

  function follow (work: Promise<void>, jobs: number): void {
    let kind: keyof typeof count = 'quick'
    count.quick += jobs
    const timer = setTimeout(() => {
      kind = 'slow'
      count.quick -= jobs
      count.slow += jobs
      wake()
    }, patience)
    const tracked: Promise<void> = work.catch(onError).finally(() => {
      clearTimeout(timer)
      count[kind] -= jobs
      underWay.delete(tracked)
      wake()
    })
    underWay.add(tracked)
  }
}
