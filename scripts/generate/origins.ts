// The origins of parts that the generator derives, so that a mistake is reported where it was made.

/** The JSON pointer of a derived part, and of what it is derived from. */
export type Origin = [derived: string, from: string]

/** Where the part at the pointer was written. A part that is derived from itself was written there. */
export function originOf(origins: Origin[], pointer: string): string {
  const found = origins
    .filter(([derived]) => `${pointer}/`.startsWith(`${derived}/`))
    .toSorted(([a], [b]) => b.length - a.length)
    .at(0)
  if (found === undefined || found[0] === found[1]) return pointer
  return originOf(origins, found[1] + pointer.slice(found[0].length))
}
