// Maps a JSON pointer into a bundled document to the file and line that it came from.
import { posix } from 'node:path'
import { isAlias, isMap, isNode, isScalar, LineCounter, parseDocument, type Document, type Node } from 'yaml'
import { keysOf } from '@platform-api/openapi/json-pointer.ts'

export interface SourceLocation {
  file: string
  line: number
}

/**
 * @param read returns the text of a file by its path, or null.
 * @param root the path of the document.
 * @param sources other pointers at which the files may have what the document has at this one.
 */
export function createLocator(
  read: (file: string) => string | null,
  root: string,
  sources: (pointer: string) => string[] = () => [],
) {
  const files = new Map<string, { document: Document; lines: LineCounter } | null>()

  function open(file: string): { document: Document; lines: LineCounter } | null {
    let found = files.get(file)
    if (found === undefined) {
      const text = read(file)
      const lines = new LineCounter()
      found = text === null ? null : { document: parseDocument(text, { lineCounter: lines }), lines }
      files.set(file, found)
    }
    return found
  }

  /** The root and every file it refers to; the bundler merges their components. */
  function all(): string[] {
    const text = read(root) ?? ''
    return [
      root,
      ...new Set(
        [...text.matchAll(/\$ref['"]?: *['"]?([\w./-]+\.(?:ya?ml|json))/g)].map(([, name]) =>
          posix.join(posix.dirname(root), name),
        ),
      ),
    ]
  }

  /** The closest location to the pointer that exists in the files. */
  return function locate(pointer: string): SourceLocation {
    const spellings = [
      pointer,
      ...sources(pointer),
      // Swagger 2.0.
      pointer.replace(/^\/components\/schemas\//, '/definitions/'),
    ]
    let best: SourceLocation & { depth: number } = { file: root, line: 1, depth: -1 }
    for (const keys of [...new Set(spellings)].map(keysOf))
      for (const file of keys[0] === 'components' ? all().reverse() : [root]) {
        const found = walk(file, keys)
        if (found.depth > best.depth) best = found
      }
    return { file: best.file, line: best.line }
  }

  function walk(file: string, keys: string[]): SourceLocation & { depth: number } {
    const opened = open(file)
    if (opened === null) return { file, line: 1, depth: -1 }
    let node: unknown = opened.document.contents
    let line = 1
    let depth = 0
    for (const [i, key] of keys.entries()) {
      const reference = referenceOf(node)
      if (reference !== null && !reference.startsWith('#')) {
        const [name, target] = reference.split('#')
        const further = walk(posix.join(posix.dirname(file), name), [...keysOf(target), ...keys.slice(i)])
        return { ...further, depth: depth + further.depth }
      }
      const pair = isMap(node)
        ? node.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
        : undefined
      const item =
        pair?.value ?? (isNode(node) && 'items' in node ? (node.items as unknown[])[Number(key)] : undefined)
      if (item === undefined) break
      const place = (pair?.key ?? item) as Node
      if (place.range) line = opened.lines.linePos(place.range[0]).line
      node = item
      depth++
    }
    return { file, line, depth }
  }
}

function referenceOf(node: unknown): string | null {
  if (isAlias(node) || !isMap(node)) return null
  const reference = node.get('$ref')
  return typeof reference === 'string' ? reference : null
}
