// Chooses the documents that are parsed next: owners take turns, and within the turns of an owner, the
// owner's workspaces do. A user with many projects gets no more turns than a user with one.
import type { FetchTurn } from '../../../infra/jobs/queue.ts'

/** The owner of each workspace that has queued documents. */
export type WorkspaceOwners = ReadonlyMap<string, string>

export class WorkspaceTurns {
  /** The jobs of an owner that run at once while other owners wait. */
  readonly #maxPerOwner: number
  /** The number of running jobs by owner. */
  readonly #running = new Map<string, number>()
  /** The owners that had their turn in the current round. */
  readonly #servedOwners = new Set<string>()
  /** The workspaces that had their turn in the current round of their owner. */
  readonly #servedWorkspaces = new Map<string, string>()

  constructor(maxPerOwner: number) {
    this.#maxPerOwner = maxPerOwner
  }

  /** Whether no job runs and no workspace had a turn. */
  get isIdle(): boolean {
    return this.#running.size + this.#servedOwners.size + this.#servedWorkspaces.size === 0
  }

  /**
   * The next turns for `free` jobs, in order: the owners that have not had their turn in this round, those
   * that have, and those with the full number of jobs. Each owner gets an even share of the jobs.
   */
  plan(owners: WorkspaceOwners, free: number): FetchTurn[] {
    const workspaces = Map.groupBy(owners.keys(), (workspace) => owners.get(workspace)!)
    const share = Math.max(1, Math.floor(free / workspaces.size))
    const room = (owner: string): number => this.#maxPerOwner - (this.#running.get(owner) ?? 0)
    const rank = (owner: string): number => (room(owner) <= 0 ? 2 : this.#servedOwners.has(owner) ? 1 : 0)
    return [...workspaces]
      .sort(([one], [other]) => rank(one) - rank(other))
      .map(([owner, its]) => ({
        groups: this.#unservedFirst(its),
        most: room(owner) <= 0 ? share : Math.min(share, room(owner)),
      }))
  }

  #unservedFirst(workspaces: string[]): string[] {
    return workspaces.toSorted(
      (one, other) => Number(this.#servedWorkspaces.has(one)) - Number(this.#servedWorkspaces.has(other)),
    )
  }

  /** Begins new rounds: no workspace has a job. */
  clear(): void {
    this.#servedOwners.clear()
    this.#servedWorkspaces.clear()
  }

  /** Counts a job that starts. @returns a function that counts its end. */
  start(workspace: string, owner: string): () => void {
    // The owner's other workspaces have no job, so the owner's next round begins.
    if (this.#servedWorkspaces.has(workspace))
      for (const [other, its] of this.#servedWorkspaces)
        if (its === owner) this.#servedWorkspaces.delete(other)
    // The other owners have no job, so the next round of all begins.
    if (this.#servedOwners.has(owner)) this.#servedOwners.clear()
    this.#servedWorkspaces.set(workspace, owner)
    this.#servedOwners.add(owner)
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1)
    return () => {
      const left = this.#running.get(owner)! - 1
      if (left === 0) this.#running.delete(owner)
      else this.#running.set(owner, left)
    }
  }
}
