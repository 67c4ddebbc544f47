// Reads the commands of a guide and what the guide shows as their output.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../../docs/guides')

export interface GuideBlock {
  /** The line of the guide at which the block begins. */
  line: number
  /** `sh`: a command that a reader runs. `json`: what the command before it prints. `ts`: a program. */
  language: string
  text: string
}

export function readGuide(name: string): string {
  return readFileSync(join(folder, `${name}.md`), 'utf8')
}

/** The fenced blocks of a Markdown text that name a language. */
export function blocksOf(markdown: string): GuideBlock[] {
  const blocks: GuideBlock[] = []
  const fence = /^```(\w+)\n([^]*?)^```$/gm
  for (const match of markdown.matchAll(fence)) {
    const line = markdown.slice(0, match.index).split('\n').length
    blocks.push({ line, language: match[1], text: match[2] })
  }
  return blocks
}

/** Values that differ between runs: ids, times, secrets, digests, URLs. Only their presence is compared. */
const changing = new RegExp(
  [
    String.raw`^([a-z]+_[0-9a-z]{20,}|\d{4}-\d\d-\d\dT.*|plat_.*|whsec_.*|https?:\/\/.*|[0-9a-f]{64}`,
    String.raw`"[^"]*"|\d{6}-.*|.*…)$`,
  ].join('|'),
)

/**
 * @returns the differences between the output in a guide and the printed output. A guide may omit fields and
 * the end of a list; everything that it shows must be printed.
 */
export function differences(shown: unknown, printed: unknown, path = '$'): string[] {
  if (Array.isArray(shown)) {
    if (!Array.isArray(printed)) return [`${path}: not a list`]
    if (shown.length === 0 && printed.length > 0) return [`${path}: not empty`]
    return shown.flatMap((item, i) => differences(item, printed[i], `${path}[${i}]`))
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof printed !== 'object' || printed === null) return [`${path}: ${JSON.stringify(printed)}`]
    return Object.entries(shown).flatMap(([name, value]) =>
      name in printed
        ? differences(value, (printed as Record<string, unknown>)[name], `${path}.${name}`)
        : [`${path}.${name}: missing`],
    )
  }
  if (typeof shown === 'string' && changing.test(shown) && typeof printed === 'string') return []
  return Object.is(shown, printed)
    ? []
    : [`${path}: ${JSON.stringify(printed)}, not ${JSON.stringify(shown)}`]
}
