// Writes what the compiler would ask for next: a stub for each operation with no handler, into the module of its tag.
// What stands there is never touched; a handler whose operation is gone is pointed out.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'
import { exportName } from './types.ts'

/** @returns a line for each stub written and each dead handler. */
export async function writeStubs (folder: string, operations: Operation[]): Promise<string[]> {
  const report: string[] = []
  for (const tag of new Set(operations.map((o) => o.tag))) {
    const own = operations.filter((o) => o.tag === tag)
    const file = join(folder, `${tag}.ts`)
    const text = await readFile(file, 'utf8').catch(() => null) ?? emptyModule(tag)
    const { present, end } = handlersIn(file, text, exportName(tag))
    const missing = own.filter((o) => !present.includes(o.id))
    for (const name of present) {
      if (!own.some((o) => o.id === name)) report.push(`handlers/${tag}.ts: ${name} is in no spec any more; delete it when you are sure`)
    }
    if (missing.length === 0) continue
    const before = text.slice(0, end).trimEnd()
    const comma = before.endsWith('{') || before.endsWith(',') ? '' : ','
    await writeFile(file, `${before}${comma}\n${missing.map(stub).join(',\n')}\n${text.slice(end)}`)
    for (const operation of missing) report.push(`handlers/${tag}.ts: ${operation.id} written as a stub`)
  }
  return report
}

function emptyModule (tag: string): string {
  return `// The handlers of the tag \`${tag}\`.
import type { Handlers } from '../generated/operations.ts'

export const ${exportName(tag)} = {
} satisfies Handlers<'${tag}'>
`
}

/** A stub does not compile until it answers: its return type is checked against every declared status and body. */
function stub (operation: Operation): string {
  const answers = operation.responses.filter((r) => r.status < 300).map((r) => r.status).join(' or ')
  return `  // ${operation.method.toUpperCase()} ${operation.fullPath} answers ${answers}.
  async ${operation.id} (request, services) {
  }`
}

/** The names in the module's object of handlers, and where its closing brace stands. */
function handlersIn (file: string, text: string, name: string): { present: string[], end: number } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  let found: ts.ObjectLiteralExpression | undefined
  source.forEachChild((node) => {
    if (!ts.isVariableStatement(node)) return
    for (const declared of node.declarationList.declarations) {
      let value = declared.initializer
      while (value && (ts.isSatisfiesExpression(value) || ts.isAsExpression(value))) value = value.expression
      if (declared.name.getText(source) === name && value && ts.isObjectLiteralExpression(value)) found = value
    }
  })
  if (!found) throw new GenerateError(`${file} does not export the object \`${name}\`, the handlers of its tag; no stub was written into it.`)
  return {
    present: found.properties.map((p) => p.name?.getText(source) ?? '').filter(Boolean),
    end: found.getEnd() - 1
  }
}
