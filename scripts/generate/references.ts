// Finds circular and malformed references before the linter runs, because its resolver would crash on them.
import type { BaseResolver, Source } from '@redocly/openapi-core'
import { dirname, resolve } from 'node:path'
import { escaped, keysOfFragment, valueAt } from '@platform-api/openapi/json-pointer.ts'

type Json = any

/** A problem at a pointer into a file, such as `#/paths/things`. */
export interface SpecProblem {
  source: Source
  pointer: string
  message: string
}

interface Reference {
  file: string
  /** Of the object with the `$ref`. */
  pointer: string
  ref: string
}

/** A file of the spec with its references. */
export interface SpecFile {
  source: Source
  parsed: Json
  references: Reference[]
}

/** Reads `root` and all files that it refers to, except those that the linter cannot read either. */
export async function readFiles(root: string, resolver: BaseResolver): Promise<Map<string, SpecFile>> {
  const files = new Map<string, SpecFile>()
  const open = [root]
  // The loop reads what is pushed here, too.
  for (const file of open) {
    if (files.has(file)) continue
    const document = await resolver.resolveDocument(null, file, true).catch((error: Error) => error)
    if (document instanceof Error) continue
    const { source, parsed } = document
    const references = referencesIn(parsed, '#').map((reference) => ({ file, ...reference }))
    files.set(file, { source, parsed, references })
    open.push(...references.filter(({ ref }) => isEncoded(ref)).map(({ ref }) => targetOf(file, ref).file))
  }
  return files
}

/** The references of the files that are malformed or circular. */
export function brokenReferences(files: Map<string, SpecFile>): SpecProblem[] {
  const broken: SpecProblem[] = []
  const all = [...files.values()].flatMap(({ references }) => references)
  for (const { file, pointer, ref } of all) {
    if (!isEncoded(ref))
      broken.push({
        source: files.get(file)!.source,
        pointer: `${pointer}/$ref`,
        message: `the reference \`${ref}\` is not a valid URI: two hexadecimal digits must follow %`,
      })
  }

  for (const { file, pointer, ref } of all.filter(({ ref }) => isEncoded(ref))) {
    const passed = new Set<string>()
    for (let at = targetOf(file, ref); ;) {
      const key = `${at.file}#${at.path.join('/')}`
      const node = valueAt(files.get(at.file)?.parsed, at.path)
      if (passed.has(key)) {
        broken.push({
          source: files.get(file)!.source,
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

/** The references in the node, which is at the pointer. */
export function referencesIn(node: Json, pointer: string): Array<{ pointer: string; ref: string }> {
  if (typeof node !== 'object' || node === null) return []
  const own = typeof node.$ref === 'string' ? [{ pointer, ref: node.$ref }] : []
  const inside = Object.entries(node).flatMap(([key, value]) =>
    referencesIn(value, `${pointer}/${escaped(key)}`),
  )
  return [...own, ...inside]
}

function isEncoded(ref: string): boolean {
  try {
    decodeURIComponent(ref)
    return true
  } catch {
    return false
  }
}

/** The file and the keys that the reference in `file` leads to. */
export function targetOf(file: string, ref: string): { file: string; path: string[] } {
  const [name, pointer = ''] = ref.split('#')
  return {
    file: name === '' ? file : resolve(dirname(file), name),
    path: keysOfFragment(pointer),
  }
}
