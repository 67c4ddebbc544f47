// Who is slow at this moment: the owners of work that makes others wait, and which of their groups are known or suspected
// to be the cause. What is due to these is passed over in the queue while the owner has his share of what is slow.

export interface SlowEndpoints {
  /** Something has become slow. */
  begin(owner: string, group: string): void
  /** It has ended. An owner of whom nothing is slow any more is forgotten. */
  end(owner: string): void
  /** Something of this group had to be put away because of its owner. */
  suspect(owner: string, group: string): void
  /** Something of this group was done quickly. */
  clear(owner: string, group: string): void
  groupsOf(owner: string): string[]
}

/** @param onClear called when a group is passed over no more, because it is quick. */
export function createSlowEndpoints(onClear: () => void): SlowEndpoints {
  const owners = new Map<string, { count: number; groups: Set<string> }>()
  return {
    begin(owner, group) {
      const known = owners.get(owner) ?? { count: 0, groups: new Set() }
      owners.set(owner, known)
      known.count++
      known.groups.add(group)
    },
    end(owner) {
      const known = owners.get(owner)!
      if (--known.count === 0) owners.delete(owner)
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
