// Formats tables for a terminal or a README.

/** A Markdown table. All columns but the first are numbers, aligned to the right. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)))
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`
  const dashes = widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`))
  const rule = `|${dashes.join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
