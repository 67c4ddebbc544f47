// Writes a JSON object as YAML 1.2, in blocks. A text that YAML could read as something else is quoted as in
// JSON, of which YAML is a superset. A text of several lines is a block of its own.

/** Texts that stand as they are: no number, date, keyword or sign of YAML. */
const plain = /^(?!(?:null|true|false|yes|no|on|off|y|n)$)[A-Za-z/$](?:[\w/.,;()'*%+ -]*[\w/.,;()'*%+-])?$/i
/** Without control characters. A space at the beginning would be indentation. */
const severalLines = /^[^\s][^\r\t\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]*$/

export function toYaml(object: object): string {
  const written: string[] = []
  for (const [key, value] of Object.entries(object)) write(written, '', `${scalar(key)}:`, value)
  return `${written.join('\n')}\n`
}

/** @param start a key, or the dash of a list. */
function write(written: string[], indent: string, start: string, value: unknown): void {
  const inner = `${indent}  `
  const first = written.length
  if (typeof value === 'string' && value.includes('\n') && severalLines.test(value)) {
    const lines = value.split('\n')
    const ends = lines.at(-1) === ''
    written.push(`${indent}${start} |${ends ? (lines.at(-2) === '' ? '+' : '') : '-'}`)
    for (const line of ends ? lines.slice(0, -1) : lines) written.push(line === '' ? '' : `${inner}${line}`)
  } else if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    written.push(`${indent}${start} ${scalar(value)}`)
  } else if (Array.isArray(value)) {
    written.push(`${indent}${start}`)
    for (const item of value) write(written, inner, '-', item)
  } else {
    if (start !== '-') written.push(`${indent}${start}`)
    for (const [key, item] of Object.entries(value)) write(written, inner, `${scalar(key)}:`, item)
    if (start === '-') written[first] = `${indent}- ${written[first].slice(inner.length)}`
  }
}

function scalar(value: unknown): string {
  return typeof value === 'string' && plain.test(value) ? value : JSON.stringify(value)
}
