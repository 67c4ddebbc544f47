// Writes what the compiler would ask for next: for each operation with no handler a stub in the module of its tag, and the
// beginning of its test. What stands there is never touched; what belongs to no operation any more is pointed out.
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'
import { componentOf } from './schemas.ts'
import { writeTests } from './test-stubs.ts'
import { exportName } from './types.ts'

/** @param root the project's folder. @returns a line for each stub written and for each dead handler and module. */
export async function writeStubs(root: string, operations: Operation[]): Promise<string[]> {
  const folder = join(root, 'handlers')
  const report: string[] = []
  const tags = new Set(operations.map((o) => o.tag))
  for (const tag of tags) {
    const own = operations.filter((o) => o.tag === tag)
    const file = join(folder, `${tag}.ts`)
    const text = (await readFile(file, 'utf8').catch(() => null)) ?? emptyModule(tag)
    const { present, end } = handlersIn(file, text, exportName(tag))
    const missing = own.filter((o) => !present.includes(o.id))
    for (const name of present) {
      if (!own.some((o) => o.id === name))
        report.push(`handlers/${tag}.ts: ${name} is in no spec any more; delete it when you are sure`)
    }
    if (missing.length === 0) continue
    const before = text.slice(0, end).trimEnd()
    const comma = before.endsWith('{') || before.endsWith(',') ? '' : ','
    await writeFile(file, `${before}${comma}\n${missing.map(stub).join(',\n\n')}\n${text.slice(end)}`)
    for (const operation of missing) report.push(`handlers/${tag}.ts: ${operation.id} written as a stub`)
    report.push(...(await writeTests(root, tag, missing)))
  }
  for (const name of (await readdir(folder)).sort()) {
    if (name.endsWith('.ts') && !tags.has(name.slice(0, -3)))
      report.push(
        `handlers/${name}: no operation of the spec has the tag \`${name.slice(0, -3)}\` any more; delete it when you are sure`,
      )
  }
  return report
}

function emptyModule(tag: string): string {
  return `// The handlers of the tag \`${tag}\`.
import type { Handlers } from '../services/handler.ts'

export const ${exportName(tag)} = {
} satisfies Handlers<'${tag}'>
`
}

/**
 * It is given what the operation declares, and says what it may answer. It does not compile until it answers: its return type is
 * checked against every declared status and body.
 */
function stub(operation: Operation): string {
  const { id, method, fullPath, summary, projectAccess, scopes, path_, query, body } = operation
  const access =
    scopes === null
      ? 'Public'
      : [
          ...scopes.map((scope) => `\`${scope}\``),
          ...(projectAccess === null
            ? []
            : [`${projectAccess.role === 'none' ? 'nobody' : projectAccess.role} of the project`]),
        ].join(', ') || 'Any key'
  const takes =
    body === null
      ? ''
      : ` Takes ${body.schema === null ? body.contentTypes.join(' or ') : (componentOf(body.schema) ?? 'what the spec says')}.`
  const answers = operation.responses
    .filter((r) => r.status < 400 && r.status !== 304)
    .map((r) => {
      const what = r.schema === null ? '' : (componentOf(r.schema) ?? r.contentType)
      return `${r.status}${what && ` ${what}`}`
    })
    .join(' or ')
  // Who opens a project hands the whole request on.
  const used = [
    scopes !== null && 'principal',
    path_.length > 0 && 'params',
    query.length > 0 && 'query',
    body !== null && 'body',
  ].filter((name) => name !== false)
  const request = projectAccess !== null ? 'request' : used.length > 0 ? `{ ${used.join(', ')} }` : '_request'
  return `  // ${method.toUpperCase()} ${fullPath}: ${summary}. ${access}.${takes} Answers ${answers}.
  async ${id} (${request}, ${method === 'get' ? '{ db }' : '{ db, events }'}) {
  }`
}

/** The names in the module's object of handlers, and where its closing brace stands. */
function handlersIn(file: string, text: string, name: string): { present: string[]; end: number } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  let found: ts.ObjectLiteralExpression | undefined
  source.forEachChild((node) => {
    if (!ts.isVariableStatement(node)) return
    for (const declared of node.declarationList.declarations) {
      let value = declared.initializer
      while (value && (ts.isSatisfiesExpression(value) || ts.isAsExpression(value))) value = value.expression
      if (declared.name.getText(source) === name && value && ts.isObjectLiteralExpression(value))
        found = value
    }
  })
  if (!found)
    throw new GenerateError(
      `${file} does not export the object \`${name}\`, the handlers of its tag; no stub was written into it.`,
    )
  return {
    present: found.properties.map((p) => p.name?.getText(source) ?? '').filter(Boolean),
    end: found.getEnd() - 1,
  }
}
