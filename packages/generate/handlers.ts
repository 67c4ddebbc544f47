// Writes a stub for each operation without a handler. Existing code is never changed.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '@platform-api/openapi/document.ts'
import { handlersIn, noHandlers } from './handlers-in.ts'
import { modulesOf, type Module } from './names.ts'

/** @returns the modules that change, by name, and a note for each handler without an operation. */
export function addStubs(
  out: string,
  operations: Operation[],
  folder: string,
): { files: Map<string, string>; notes: string[] } {
  const files = new Map<string, string>()
  const notes: string[] = []
  for (const module of modulesOf(operations)) {
    const name = `${folder}/${module.file}.ts`
    const path = join(out, name)
    const source = existsSync(path) ? readFileSync(path, 'utf8') : emptyModule(module, folder)
    const found = handlersIn(source, module.name)
    if (found === null) throw new Error(noHandlers(path, module.name))
    const { present, end } = found
    for (const key of present.map(unquoted))
      if (!module.operations.some(({ id }) => id === key))
        notes.push(`${name}: ${key} is not in the document; delete it if it is not needed`)
    const missing = module.operations.filter(({ id }) => !present.map(unquoted).includes(id))
    if (missing.length === 0) continue
    const before = source.slice(0, end).trimEnd()
    const comma = before.endsWith('{') || before.endsWith(',') ? '' : ','
    files.set(name, `${before}${comma}\n${missing.map(stub).join('\n')}${source.slice(end)}`)
  }
  return { files, notes }
}

const unquoted = (name: string): string => (/^['"]/.test(name) ? name.slice(1, -1) : name)

function emptyModule({ tag, name }: Module, folder: string): string {
  const root = '../'.repeat(folder.split('/').length)
  return `// The handlers of the tag ${JSON.stringify(tag)}.
import { notImplemented, type Handlers } from '${root}generated/handler.ts'

export const ${name} = {
} satisfies Handlers<${JSON.stringify(tag)}>
`
}

function stub({ id, method, path, node, responses, otherResponses }: Operation): string {
  const summary = String(node.summary ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  const statuses = [...responses.keys(), ...otherResponses.keys()].join(', ')
  const name = /^[A-Za-z_$][\w$]*$/.test(id) ? id : JSON.stringify(id)
  return `  // ${method} ${path}${summary && `: ${summary}`}. Responses: ${statuses}.
  async ${name}(_request) {
    throw notImplemented(${JSON.stringify(id)})
  },
`
}
