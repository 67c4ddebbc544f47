// Finds parts of the spec that the document does not contain: files, path items and components that no
// reference leads to. An operation of them would not exist.
import { Source } from '@redocly/openapi-core'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { parse } from 'yaml'
import { escaped, valueAt } from '@platform-api/openapi/json-pointer.ts'
import { referencesIn, targetOf, type SpecFile, type SpecProblem } from './references.ts'

/** @param root the root document. Every YAML file in its folder and below is a part of the spec. */
export async function findUnused(root: string, files: Map<string, SpecFile>): Promise<SpecProblem[]> {
  const used = new Map<string, string[]>([[root, ['#']]])
  const open = files.get(root)!.references.map(({ ref }) => targetOf(root, ref))
  // The loop reads what is pushed here, too.
  for (const { file, path } of open) {
    const pointers = used.get(file) ?? []
    const pointer = pointerTo(path)
    if (pointers.includes(pointer)) continue
    used.set(file, [...pointers, pointer])
    const inside = referencesIn(valueAt(files.get(file)?.parsed, path), pointer)
    open.push(...inside.map(({ ref }) => targetOf(file, ref)))
  }

  const problems: SpecProblem[] = []
  for (const file of await filesIn(dirname(root))) {
    if (used.has(file)) continue
    const text = await readFile(file, 'utf8')
    problems.push({
      source: new Source(file, text),
      pointer: '#/',
      message: `nothing refers to this file: ${referenceTo(file, text, root)}, or delete it`,
    })
  }
  for (const [file, pointers] of used) {
    const { parsed: document, source } = files.get(file) ?? {}
    if (file === root || source === undefined) continue
    for (const path of partsOf(document)) {
      const pointer = pointerTo(path)
      const isUsed = pointers.some((other) => other === '#' || `${other}/`.startsWith(`${pointer}/`))
      if (!isUsed) problems.push({ source, pointer, message: unusedPart(file, path, document, root) })
    }
  }
  return problems
}

/** @param path of the part in the document. */
function unusedPart(file: string, path: string[], document: any, root: string): string {
  const [kind, name] = path
  return kind === 'paths'
    ? `no path refers to \`${name}\`: add it to ${inPaths(file, [name, document.paths[name]], root)}, ` +
        'or delete it'
    : `nothing refers to \`${path.join('/')}\`: use it or delete it`
}

/** The reference to add for the first path of the file. */
function referenceTo(file: string, text: string, root: string): string {
  const [first] = Object.entries<any>(parsed(text)?.paths ?? {})
  return first === undefined
    ? 'refer to its components by `$ref`'
    : `add its paths to ${inPaths(file, first, root)}`
}

/** `paths` of the root document, and the line in it that refers to the path of the file. */
function inPaths(file: string, [name, item]: [string, any], root: string): string {
  const { parent = 'project' } = item?.['x-crud'] ?? { parent: null }
  const path = ['project', 'organization'].includes(parent) ? `/${parent}s/{id}/${name}` : `/${name}`
  const ref = `${relative(dirname(root), file)}#/paths/${escaped(name)}`
  return `\`paths\` of ${basename(root)}, such as \`${path}: { $ref: '${ref}' }\``
}

/** undefined if the text is not YAML yet. */
function parsed(text: string): any {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function pointerTo(path: string[]): string {
  return `#${path.map((key) => `/${escaped(key)}`).join('')}`
}

/** The paths of all path items and components. */
function partsOf(document: any): string[][] {
  return [
    ...Object.keys(document?.paths ?? {}).map((name) => ['paths', name]),
    ...Object.entries<any>(document?.components ?? {}).flatMap(([kind, parts]) =>
      Object.keys(parts ?? {}).map((name) => ['components', kind, name]),
    ),
  ]
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(folder, file).includes('node_modules'))
    .sort()
}
