// The origins of parts that the generator derives, so that a mistake is reported where it was made.

/** The JSON pointer of a derived part, and of what it is derived from. */
export type Origin = [derived: string, from: string]

/** Where the part at the pointer was written. */
export function originOf(origins: Origin[], pointer: string): string {
  const found = origins
    .filter(([derived]) => `${pointer}/`.startsWith(`${derived}/`))
    .toSorted(([a], [b]) => b.length - a.length)
    .at(0)
  return found === undefined ? pointer : originOf(origins, found[1] + pointer.slice(found[0].length))
}
