// Whose document is parsed next: owners take turns, and the workspaces of an owner take turns within the
// owner's. A user with many projects gets no more turns than a user with one.

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

  /** Whether no job runs and no workspace had a turn, so that there is nothing to exclude. */
  get isIdle(): boolean {
    return this.#running.size + this.#servedOwners.size + this.#servedWorkspaces.size === 0
  }

  /**
   * The workspaces to exclude from the next turn. If the others have no job, the following list applies;
   * after the last one no workspace has a job.
   */
  *exclusions(owners: WorkspaceOwners): Generator<string[]> {
    const workspacesOf = (isExcluded: (owner: string) => boolean): string[] =>
      [...owners].filter(([, owner]) => isExcluded(owner)).map(([workspace]) => workspace)
    const full = workspacesOf((owner) => (this.#running.get(owner) ?? 0) >= this.#maxPerOwner)
    const servedWorkspaces = [...this.#servedWorkspaces.keys()]
    const served = [...full, ...workspacesOf((owner) => this.#servedOwners.has(owner))]
    yield [...served, ...servedWorkspaces]
    if (servedWorkspaces.length > 0) yield served
    if (served.length > full.length) {
      this.#servedOwners.clear()
      yield [...full, ...servedWorkspaces]
      if (servedWorkspaces.length > 0) yield full
    }
    if (full.length > 0) yield []
    this.#servedOwners.clear()
    this.#servedWorkspaces.clear()
  }

  /** Counts a job that starts. @returns a function that counts its end. */
  start(workspace: string, owner: string): () => void {
    // The owner's other workspaces have no job, so the owner's next round begins.
    if (this.#servedWorkspaces.has(workspace))
      for (const [other, its] of this.#servedWorkspaces)
        if (its === owner) this.#servedWorkspaces.delete(other)
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
