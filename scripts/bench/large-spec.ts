// Writes a spec with a given number of operations: the real spec plus copies of one of its areas with other
// names and schemas, or the real spec without some areas.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { methods } from '@platform-api/openapi/methods.ts'
import { has, writes } from '../generate/crud/declared.ts'

const specFolder = join(import.meta.dirname, '../../spec')

/** The areas that no other area needs, in the order in which they are left out. */
const optional = ['payments.yaml', 'ai.yaml', 'events.yaml']

/**
 * Writes the spec into `folder`. @returns the root document and its number of operations, which is
 * `operations` or slightly more, or with `fewer`, slightly less.
 */
export async function writeLargeSpec(
  folder: string,
  operations: number,
  { fewer = false } = {},
): Promise<{ root: string; operations: number }> {
  await cp(specFolder, folder, { recursive: true })
  const root = parse(await readFile(join(folder, 'openapi.yaml'), 'utf8'))
  const area = await readFile(join(folder, 'projects.yaml'), 'utf8')
  const areaPaths = Object.entries<{ $ref: string }>(root.paths).filter(([, { $ref }]) =>
    $ref.startsWith('projects.yaml#'),
  )
  const perCopy = countOperations(Object.values(parse(area).paths))
  const perFile: Record<string, number> = {}
  const parsed: Record<string, any> = {}
  for (const { $ref } of Object.values<{ $ref: string }>(root.paths)) {
    const [file, pointer] = $ref.split('#/paths/')
    parsed[file] ??= parse(await readFile(join(folder, file), 'utf8'))
    perFile[file] = (perFile[file] ?? 0) + countOperations([parsed[file].paths[pointer]])
  }
  const all = Object.values(perFile).reduce((a, b) => a + b)
  let count = all
  for (const file of fewer ? optional : []) {
    if (count <= operations) break
    for (const [path, { $ref }] of Object.entries<{ $ref: string }>(root.paths))
      if ($ref.startsWith(`${file}#`)) delete root.paths[path]
    count -= perFile[file]
  }
  for (let copy = 1; operations > all && count < operations; copy++, count += perCopy) {
    const renamed = renameAll(parse(area), copy)
    for (const item of Object.values<any>(renamed.paths)) {
      for (const method of methods) {
        const tag = item[method]?.tags[0]
        if (tag !== undefined && !root.tags.some((t: { name: string }) => t.name === tag))
          root.tags.push({ name: tag, description: `Copy ${copy}.` })
      }
    }
    await writeFile(join(folder, `copy${copy}.yaml`), stringify(renamed))
    for (const [path, { $ref }] of areaPaths)
      root.paths[`/copy${copy}${path}`] = { $ref: $ref.replace('projects.yaml', `copy${copy}.yaml`) }
  }
  await writeFile(join(folder, 'openapi.yaml'), stringify(root))
  return { root: join(folder, 'openapi.yaml'), operations: count }
}

function countOperations(items: any[]): number {
  return items.reduce((sum, item) => sum + operationsOf(item), 0)
}

/** A collection with `x-crud` has a list, the GET of one, and the writes that it does not leave out. */
function operationsOf({ 'x-crud': crud, ...item }: any): number {
  if (crud !== undefined) return 2 + writes.filter((verb) => has(crud, verb)).length
  return methods.filter((method) => item[method] !== undefined).length
}

/** Appends the copy's number to operations, tags and the area's own components. */
function renameAll(node: any, copy: number, key = ''): any {
  if (Array.isArray(node))
    return key === 'tags' && typeof node[0] === 'string'
      ? node.map((tag) => `${tag}-${copy}`)
      : node.map((item) => renameAll(item, copy))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries<any>(node).map(([name, value]) => {
      if (name === 'operationId') return [name, `${value}Copy${copy}`]
      if (name === '$ref' && value.startsWith('#/')) return [name, `${value}Copy${copy}`]
      if (name === 'description' && typeof value === 'string') return [name, `${value} (copy ${copy})`]
      return [
        key === 'schemas' || (key === 'parameters' && !Array.isArray(node)) ? `${name}Copy${copy}` : name,
        renameAll(value, copy, name),
      ]
    }),
  )
}
