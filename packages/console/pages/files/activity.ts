// What goes on beside the page: messages with an undo, and jobs. Both outlive the page.
import { call, failureOf, type Failure } from '../../session.ts'
import { changed } from './place.ts'

export interface Toast {
  id: number
  text: string
  undo: (() => Promise<void>) | null
}

export interface Job {
  id: string
  /** Such as `Deleting reports`. */
  text: string
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled'
  done: number
  total: number
  error: string | null
}

/** Dispatches `change`. */
export const activity = new EventTarget()

let toasts: Toast[] = []
let jobs: Job[] = []
let lastId = 0
const toastMs = 12_000

export const shownToasts = (): readonly Toast[] => toasts
export const shownJobs = (): readonly Job[] => jobs
const notify = (): boolean => activity.dispatchEvent(new Event('change'))

export function toast(text: string, undo: (() => Promise<void>) | null = null): void {
  const id = ++lastId
  toasts = [...toasts.slice(-2), { id, text, undo }]
  notify()
  setTimeout(() => dismissToast(id), toastMs)
}

export function dismissToast(id: number): void {
  toasts = toasts.filter((each) => each.id !== id)
  notify()
}

/** @param job the answer of the operation that began it. */
export function follow(text: string, job: any): void {
  jobs = [...jobs.filter(({ id }) => id !== job.id), { ...job, text }]
  notify()
  if (isActive(job)) setTimeout(() => void poll(text, job.id, pollMs), pollMs)
}

const pollMs = 500
const maxPollMs = 10_000

export const isActive = ({ status }: Pick<Job, 'status'>): boolean =>
  status === 'queued' || status === 'running'

async function poll(text: string, id: string, wait: number): Promise<void> {
  if (!jobs.some((job) => job.id === id && isActive(job))) return
  try {
    const { data } = await call('getJob', { path: { id } })
    jobs = jobs.map((job) => (job.id === id ? { ...data, text } : job))
    notify()
    if (!isActive(data)) return changed('folders', 'files')
  } catch (error) {
    // It is asked again: the job goes on.
    const { code } = failureOf(error)
    if (code === 'NOT_FOUND' || code === 'FORBIDDEN' || code === 'UNAUTHORIZED') return dismissJob(id)
  }
  const next = Math.min(maxPollMs, wait * 1.5)
  setTimeout(() => void poll(text, id, next), next)
}

export function dismissJob(id: string): void {
  jobs = jobs.filter((job) => job.id !== id)
  notify()
}

/** @returns why the job could not be canceled; null if it was. */
export async function cancel({ id, text }: Job): Promise<Failure | null> {
  try {
    const { data } = await call('cancelJob', { path: { id } })
    jobs = jobs.map((job) => (job.id === id ? { ...data, text } : job))
    notify()
    changed('folders', 'files')
    return null
  } catch (error) {
    return failureOf(error)
  }
}
