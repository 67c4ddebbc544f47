// Published documents have faults that say nothing about the API but stop validators. They are read as their
// authors mean them.

type Json = any

/**
 * Leaves out empty enums and patterns that are no regular expressions, and reads the boolean limits of
 * version 3.0. Changes `node`.
 */
export function withoutFaults(node: Json): Json {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node.enum) && node.enum.length === 0) delete node.enum
  if (typeof node.pattern === 'string') {
    const pattern = unicodePattern(node.pattern)
    if (pattern === null) delete node.pattern
    else node.pattern = pattern
  }
  for (const [exclusive, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ])
    if (typeof node[exclusive] === 'boolean') {
      if (node[exclusive] && node[limit] !== undefined) {
        node[exclusive] = node[limit]
        delete node[limit]
      } else delete node[exclusive]
    }
  for (const value of Object.values(node)) withoutFaults(value)
  return node
}

/** The pattern as JSON Schema reads it, with Unicode; null if it is no regular expression. */
function unicodePattern(pattern: string): string | null {
  // `/^a$/` and `\_` mean `^a$` and `_` to tools without Unicode.
  const [, inside = pattern] = /^\/(\^.*\$)\/$/.exec(pattern) ?? []
  const plain = inside.replace(/\\([^\w^$\\.*+?()[\]{}|/-]|_)/g, '$1')
  return [pattern, plain, plain.replace(/(\\w|\\d|\\s)-/g, '$1\\-')].find(isPattern) ?? null
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u').test('')
    return true
  } catch {
    return false
  }
}
