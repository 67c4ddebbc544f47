// Finds citation markers such as `[1]` or `[2, 10]` in a streamed answer. A marker may be split across
// several pieces.

/** UTF-16 code units of the longest marker. */
const maxMarkerLength = 64

/** @returns a function that takes the next piece and returns the numbers of the markers that end in it. */
export function createCitationMarkerParser(): (piece: string) => number[] {
  let rest = ''
  return (piece) => {
    const text = rest + piece
    const numbers: number[] = []
    let end = 0
    for (const match of text.matchAll(/\[(\d{1,3}(?:\s{0,2},\s{0,2}\d{1,3})*)\]/g)) {
      numbers.push(...match[1].split(',').map(Number))
      end = match.index + match[0].length
    }
    const start = text.lastIndexOf('[')
    rest = start < end || text.length - start > maxMarkerLength ? '' : text.slice(start)
    return numbers
  }
}
