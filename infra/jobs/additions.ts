// Notifies workers of new jobs, so that they do not wait for their next poll: those of this process at once,
// those of other processes by a notification.
import { randomUUID } from 'node:crypto'
import { coalesce } from '../concurrency/coalesce.ts'
import type { Bus } from '../bus/bus.ts'

export interface Additions {
  on(queue: string, callback: () => void): void
  /** @returns what to call after jobs were added to the queue. */
  announcer(queue: string): () => void
}

const channel = 'jobs'

export function createAdditions(
  listener: Pick<Bus, 'on' | 'publish'> | undefined,
  onError: (error: Error) => void,
): Additions {
  const process = randomUUID()
  const callbacks = new Map<string, Array<() => void>>()
  const call = (queue: string): void => callbacks.get(queue)?.forEach((callback) => callback())
  listener?.on(channel, (payload) => {
    const [queue, sender] = payload.split(' ')
    if (sender !== process) call(queue)
  })
  return {
    on(queue, callback) {
      callbacks.set(queue, [...(callbacks.get(queue) ?? []), callback])
    },
    announcer(queue) {
      const publish = coalesce(async () => await listener?.publish(channel, `${queue} ${process}`), onError)
      return () => {
        call(queue)
        publish()
      }
    },
  }
}
