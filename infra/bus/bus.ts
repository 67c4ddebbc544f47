// The bus between the processes of an installation: notifications of changes in the database and of new work.
// PostgreSQL carries them (infra/database/notifications.ts), or NATS (nats-bus.ts). Notifications are lost
// while a process is disconnected, so subscribers learn when that begins and ends.

export interface Bus {
  /** Whether notifications arrive. */
  readonly listening: boolean
  /**
   * Calls `callback` with the payload of each notification on the channel, in the order of the commits. The
   * callback is synchronous; its errors are reported. Call this before `start`.
   */
  on(channel: string, callback: (payload: string) => void): void
  /** Calls `callback` when notifications begin and cease to arrive. In between they are lost. */
  onState(callback: (listening: boolean) => void): void
  /** Sends a notification to all processes, also to this one. */
  publish(channel: string, payload?: string): Promise<void>
  /** Throws unless notifications arrive within `milliseconds`, by default 2,000. */
  requireListening(milliseconds?: number): Promise<void>
  /**
   * Call this after a commit: waits until every other process has processed the notifications of the commit,
   * or has been disconnected for so long that it knows.
   */
  waitForListeners(): Promise<void>
  start(): void
  close(): Promise<void>
}
