// The Markdown of an answer as elements. HTML and images stay text, and only web and mail addresses are
// links: what a model writes loads nothing and runs nothing.
import type { ComponentChild } from 'preact'
import { useMemo } from 'preact/hooks'

/** The element for the source with a number in brackets; null where the number is text. */
type Cite = (source: number) => ComponentChild

/** @param sources how many sources are known: with another one, numbers in the text become links. */
export function Markdown({ text, cite, sources }: { text: string; cite: Cite; sources: number }) {
  return <div class="text">{useMemo(() => blocksOf(text.split('\n'), cite), [text, sources])}</div>
}

const fence = /^ {0,3}(```+|~~~+)/
const item = /^( {0,12})([-*+]|\d{1,9}[.)]) +(?=\S)/
const rule = /^ {0,3}([-*_])( *\1){2,}\s*$/
const heading = /^ {0,3}(#{1,6}) +(.*)/
const divider = /^ *\|?( *:?-+:? *\|)* *:?-+:? *\|? *$/
/** A list in a list in a list ends as text. */
const maxDepth = 8

/** The elements of lines. `depth` counts the lists and quotes around them. */
function blocksOf(lines: string[], cite: Cite, depth = 0): ComponentChild[] {
  const blocks: ComponentChild[] = []
  let at = 0
  /** The lines from here on, as long as a condition holds. */
  const take = (holds: (line: string, i: number) => boolean): string[] => {
    const start = at
    while (at < lines.length && holds(lines[at], at - start)) at++
    return lines.slice(start, at)
  }
  while (at < lines.length) {
    const line = lines[at]
    const open = fence.exec(line)?.[1]
    const isTable = line.includes('|') && divider.test(lines[at + 1] ?? '') && lines[at + 1].includes('|')
    if (line.trim() === '') at++
    else if (open !== undefined) {
      at++
      const code = take((each) => !each.trim().startsWith(open))
      at++
      blocks.push(<pre tabIndex={0}>{code.join('\n')}</pre>)
    } else if (rule.test(line)) {
      at++
      blocks.push(<hr />)
    } else if (heading.test(line)) {
      at++
      blocks.push(<h2>{inlineOf(heading.exec(line)![2], cite)}</h2>)
    } else if (line.startsWith('>') && depth < maxDepth) {
      const quoted = take((each) => each.startsWith('>')).map((each) => each.replace(/^> ?/, ''))
      blocks.push(<blockquote>{blocksOf(quoted, cite, depth + 1)}</blockquote>)
    } else if (item.test(line) && depth < maxDepth) blocks.push(listOf(take, line, cite, depth))
    else if (isTable)
      blocks.push(
        tableOf(
          take((each) => each.includes('|')),
          cite,
        ),
      )
    else {
      const text = take((each, i) => i === 0 || !(each.trim() === '' || fence.test(each) || item.test(each)))
      blocks.push(<p>{inlineOf(text.join('\n'), cite)}</p>)
    }
  }
  return blocks
}

type Take = (holds: (line: string, i: number) => boolean) => string[]

/** The items with the same kind of sign; what is indented further belongs to an item. */
function listOf(take: Take, first: string, cite: Cite, depth: number): ComponentChild {
  const [, indent, sign] = item.exec(first)!
  const isOrdered = sign.length > 1
  const indentOf = (line: string): number => line.search(/\S/)
  const isItem = (line: string): boolean => {
    const found = item.exec(line)
    return found !== null && found[1].length <= indent.length + 1 && found[2].length > 1 === isOrdered
  }
  const items: string[][] = []
  let isAfterBlank = false
  take((line) => {
    const isBlank = line.trim() === ''
    const isNext = isItem(line)
    const isInside = indentOf(line) > indent.length || (!isAfterBlank && !isNext && !item.test(line))
    if (!isBlank && !isNext && !isInside) return false
    if (isNext) items.push([line.replace(item, '')])
    else
      items.at(-1)!.push(line.slice(Math.min(Math.max(0, indentOf(line)), indent.length + sign.length + 1)))
    isAfterBlank = isBlank
    return true
  })
  const children = items.map((lines) => <li>{blocksOf(lines, cite, depth + 1)}</li>)
  return isOrdered ? <ol start={parseInt(sign, 10)}>{children}</ol> : <ul>{children}</ul>
}

function tableOf([head, , ...rows]: string[], cite: Cite): ComponentChild {
  const cellsOf = (row: string): string[] => row.replace(/^ *\||\| *$/g, '').split('|')
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {cellsOf(head).map((cell) => (
              <th scope="col">{inlineOf(cell.trim(), cite)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {cellsOf(row).map((cell) => (
                <td>{inlineOf(cell.trim(), cite)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Code, bold, italics, deleted, a link, the numbers of sources, and an address. */
const inline = new RegExp(
  [
    /`([^`\n]+)`/,
    /\*\*([^*]+)\*\*/,
    /__([^_]+)__/,
    /\*([^*\s][^*]*)\*/,
    /~~([^~]+)~~/,
    // The address of a link that arrives is not shown: the words after it would jump.
    /\[([^\][]+)\]\(([^()\s]*)(?:\)|$)/,
    /\[(\d{1,3}(?: {0,2}, {0,2}\d{1,3})*)\]/,
    /(https?:\/\/[^\s<>"')\]]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)

function inlineOf(text: string, cite: Cite): ComponentChild[] {
  const parts: ComponentChild[] = []
  let end = 0
  for (const match of text.matchAll(inline)) {
    const [whole, code, bold, alsoBold, italic, deleted, name, target, sources, address] = match
    parts.push(text.slice(end, match.index))
    end = match.index + whole.length
    if (code !== undefined) parts.push(<code>{code}</code>)
    else if (bold ?? alsoBold) parts.push(<strong>{inlineOf(bold ?? alsoBold, cite)}</strong>)
    else if (italic !== undefined) parts.push(<em>{inlineOf(italic, cite)}</em>)
    else if (deleted !== undefined) parts.push(<del>{deleted}</del>)
    else if (sources !== undefined) {
      const marks = sources.split(',').map((each) => cite(Number(each)))
      parts.push(...(marks.includes(null) ? [whole] : marks))
    } else if (target !== undefined && !whole.endsWith(')')) parts.push(name)
    else if (address !== undefined || /^(https?:\/\/|mailto:)/i.test(target))
      parts.push(
        <a href={address ?? target} title={target} target="_blank" rel="noopener noreferrer">
          {name ?? address}
        </a>,
      )
    else parts.push(whole)
  }
  return [...parts, text.slice(end)]
}
