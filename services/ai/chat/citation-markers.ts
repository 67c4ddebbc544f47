// The numbers of sources in an answer, `[1]` or `[2, 10]`, found while it comes in pieces.

/** Code units of the longest marker. */
const longest = 64

/** @returns what finds the numbers whose bracket closes in the next piece. */
export function createMarkers(): (piece: string) => number[] {
  let rest = ''
  return (piece) => {
    const text = rest + piece
    const found: number[] = []
    let after = 0
    for (const match of text.matchAll(/\[(\d{1,3}(?:\s{0,2},\s{0,2}\d{1,3})*)\]/g)) {
      found.push(...match[1].split(',').map(Number))
      after = match.index + match[0].length
    }
    const opened = text.lastIndexOf('[')
    rest = opened < after || text.length - opened > longest ? '' : text.slice(opened)
    return found
  }
}
