// Finds circular and malformed references before the linter runs, because its resolver would crash on them.
import type { BaseResolver, Source } from '@redocly/openapi-core'
import { dirname, resolve } from 'node:path'
import { escaped, keysOf, valueAt } from '../../infra/validation/json-pointer.ts'

type Json = any

export interface BrokenReference {
  source: Source
  pointer: string
  message: string
}

/** Reads `root` and all files that it refers to. The resolver caches them. */
export async function findBrokenReferences(root: string, resolver: BaseResolver): Promise<BrokenReference[]> {
  const broken: BrokenReference[] = []
  const documents = new Map<string, { source: Source; parsed: Json }>()
  const references: Array<{ file: string; pointer: string; ref: string }> = []
  await read(root)

  async function read(file: string): Promise<void> {
    if (documents.has(file)) return
    // The linter reports files that cannot be read.
    const document = await resolver.resolveDocument(null, file, true).catch((error: Error) => error)
    if (document instanceof Error) return
    documents.set(file, document)
    const own: typeof references = []
    collect(document.parsed, '#', own, file)
    const sound = own.filter(({ ref }) => isEncoded(ref))
    references.push(...sound)
    for (const { pointer, ref } of own) {
      if (!isEncoded(ref))
        broken.push({
          source: document.source,
          pointer: `${pointer}/$ref`,
          message: `the reference \`${ref}\` is not a valid URI: two hexadecimal digits must follow %`,
        })
    }
    for (const other of new Set(sound.map(({ ref }) => targetOf(file, ref).file))) await read(other)
  }

  for (const { file, pointer, ref } of references) {
    const passed = new Set<string>()
    for (let at = targetOf(file, ref); ;) {
      const key = `${at.file}#${at.path.join('/')}`
      const node = valueAt(documents.get(at.file)?.parsed, at.path)
      if (passed.has(key)) {
        broken.push({
          source: documents.get(file)!.source,
          pointer: `${pointer}/$ref`,
          message: `the reference \`${ref}\` refers to itself`,
        })
        break
      }
      passed.add(key)
      if (typeof node?.$ref !== 'string' || !isEncoded(node.$ref)) break
      at = targetOf(at.file, node.$ref)
    }
  }
  return broken
}

function collect(
  node: Json,
  pointer: string,
  found: Array<{ file: string; pointer: string; ref: string }>,
  file: string,
): void {
  if (typeof node !== 'object' || node === null) return
  if (typeof node.$ref === 'string') found.push({ file, pointer, ref: node.$ref })
  for (const [key, value] of Object.entries(node)) collect(value, `${pointer}/${escaped(key)}`, found, file)
}

function isEncoded(ref: string): boolean {
  try {
    decodeURIComponent(ref)
    return true
  } catch {
    return false
  }
}

function targetOf(file: string, ref: string): { file: string; path: string[] } {
  const [name, pointer = ''] = ref.split('#')
  return {
    file: name === '' ? file : resolve(dirname(file), name),
    path: keysOf(decodeURIComponent(pointer)),
  }
}
