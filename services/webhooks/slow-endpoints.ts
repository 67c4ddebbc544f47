// The endpoints that are slow at this moment, by owner. While an owner has the full share of slow deliveries,
// the worker pools skip the owner's deliveries to these endpoints in the queue (see worker-pool.ts).

export interface SlowEndpoints {
  /** A delivery became slow. `group` is its endpoint. */
  add(owner: string, group: string): void
  /**
   * A slow delivery is done. When it was the owner's last slow delivery, all endpoints of the owner are
   * removed.
   */
  remove(owner: string): void
  /**
   * A delivery to this endpoint was put off because its owner has the full share: treat the endpoint as slow,
   * too.
   */
  suspect(owner: string, group: string): void
  /** A delivery to this endpoint was quick: the endpoint is not slow. */
  clear(owner: string, group: string): void
  groupsOf(owner: string): string[]
}

/** @param onClear called when an endpoint is no longer slow. */
export function createSlowEndpoints(onClear: () => void): SlowEndpoints {
  const owners = new Map<string, { slowDeliveries: number; groups: Set<string> }>()
  return {
    add(owner, group) {
      const entry = owners.get(owner) ?? { slowDeliveries: 0, groups: new Set() }
      owners.set(owner, entry)
      entry.slowDeliveries++
      entry.groups.add(group)
    },
    remove(owner) {
      const entry = owners.get(owner)!
      if (--entry.slowDeliveries === 0) owners.delete(owner)
    },
    suspect(owner, group) {
      owners.get(owner)?.groups.add(group)
    },
    clear(owner, group) {
      if (owners.get(owner)?.groups.delete(group)) onClear()
    },
    groupsOf: (owner) => [...(owners.get(owner)?.groups ?? [])],
  }
}
