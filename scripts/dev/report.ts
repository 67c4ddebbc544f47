// What `npm run dev` says: one line for what went well, and for what did not the place, in words, and the line that stands there.
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from './types.ts'

const stubs = '`npm run generate -- --stubs` writes a stub'

/** `handlers/members.ts:3:5 Type … (TS2322)` and the line. */
export function placed(folder: string, { file, line, column, message }: Place): string {
  const excerpt = excerptOf(join(folder, file), line)
  return `${file}:${line}:${column} ${message}${excerpt && `\n    ${excerpt}`}`
}

/** Why a server did not come up, from what Node wrote as it ended: the place comes first there, with a caret below the column. */
export function whyItEnded(folder: string, written: string): string {
  const lines = written.split('\n')
  const message =
    lines.find((line) => /^\s*(?:\[?\w*Error\b.*|Uncaught .*)$/.test(line))?.trim() ??
    lines.find((line) => line.trim() !== '') ??
    'it ended without a word'
  const [, tag] = /has no handler in handlers\/(\S+)\.ts/.exec(message) ?? []
  if (tag !== undefined) return `${message.replace(/^Error: /, '')}; ${stubs}`
  const [, module] =
    /Cannot find module '[^']*\/(handlers\/[^']+)' imported from [^']*generated\/routes\.ts/.exec(message) ??
    []
  if (module !== undefined) return `${module} is not there yet, and operations of the spec are its; ${stubs}`
  const at = placeIn(folder, lines)
  return at === null ? message : placed(folder, { ...at, message })
}

function placeIn(folder: string, lines: string[]): Omit<Place, 'message'> | null {
  for (const [i, text] of lines.entries()) {
    const [, head, row] = /^(?:file:\/\/)?(\/\S+?):(\d+)$/.exec(text) ?? []
    const [, url, stackRow, column] = /\(?(file:\/\/\/\S+?):(\d+):(\d+)\)?$/.exec(text) ?? []
    const path = head ?? (url === undefined ? undefined : fileURLToPath(url))
    if (path === undefined || !isOwn(folder, path)) continue
    const caret = lines.slice(i + 1, i + 4).find((below) => /^\s*\^+\s*$/.test(below))
    return {
      file: relative(folder, path),
      line: Number(row ?? stackRow),
      column: Number(column ?? (caret?.indexOf('^') ?? 0) + 1),
    }
  }
  return null
}

function isOwn(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`) && !path.includes('/node_modules/')
}

function excerptOf(file: string, line: number): string {
  try {
    return readFileSync(file, 'utf8').split('\n')[line - 1]?.trim().slice(0, 120) ?? ''
  } catch (error) {
    // It may be gone by now.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
