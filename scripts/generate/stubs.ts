// Writes a stub of the handler and of its test for each operation without a handler. Existing code is never
// changed; handlers and modules without an operation are reported.
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'
import { handlersIn, noHandlers } from './project/handlers-in.ts'
import { componentOf } from './schemas.ts'
import { writeTests } from './test-stubs.ts'
import { exportName } from './types.ts'

/** @param root the project's folder. @returns a line for each new stub and each unused handler or module. */
export async function writeStubs(root: string, operations: Operation[]): Promise<string[]> {
  const folder = join(root, 'handlers')
  const report: string[] = []
  const tags = new Set(operations.map((o) => o.tag))
  for (const tag of tags) {
    const own = operations.filter((o) => o.tag === tag)
    const file = join(folder, `${tag}.ts`)
    const text = (await readFile(file, 'utf8').catch(() => null)) ?? emptyModule(tag)
    const found = handlersIn(text, exportName(tag))
    if (found === null) throw new GenerateError(`${noHandlers(file, exportName(tag))}; no stub was written.`)
    const { present, end } = found
    const missing = own.filter((o) => !present.includes(o.id))
    for (const name of present) {
      if (!own.some((o) => o.id === name))
        report.push(`handlers/${tag}.ts: ${name} is not in the spec; delete it if it is not needed`)
    }
    if (missing.length === 0) continue
    const before = text.slice(0, end).trimEnd()
    const comma = before.endsWith('{') || before.endsWith(',') ? '' : ','
    await writeFile(file, `${before}${comma}\n${missing.map(stub).join(',\n\n')}\n${text.slice(end)}`)
    for (const operation of missing) report.push(`handlers/${tag}.ts: wrote a stub of ${operation.id}`)
    report.push(...(await writeTests(root, tag, missing)))
  }
  for (const name of (await readdir(folder)).sort()) {
    if (name.endsWith('.ts') && !tags.has(name.slice(0, -3)))
      report.push(
        `handlers/${name}: no operation has the tag \`${name.slice(0, -3)}\`; ` +
          'delete the module if it is not needed',
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
 * The stub does not compile until it returns a declared response. Its comment lists access, body and
 * responses.
 */
function stub(operation: Operation): string {
  const { id, method, fullPath, summary, projectAccess, organizationAccess } = operation
  const { scopes, path_, query, body } = operation
  const access =
    scopes === null
      ? 'Public'
      : [
          ...scopes.map((scope) => `\`${scope}\``),
          ...(projectAccess === null
            ? []
            : [projectAccess.role === 'none' ? 'no project role' : `project role ${projectAccess.role}`]),
          ...(organizationAccess === null ? [] : [`organization role ${organizationAccess.role}`]),
        ].join(', ') || 'Any key'
  const bodyType = body?.schema
    ? (componentOf(body.schema) ?? 'see the spec')
    : body?.contentTypes.join(' or ')
  const takes = body === null ? '' : ` Body: ${bodyType}.`
  const answers = operation.responses
    .filter((r) => r.status < 400 && r.status !== 304)
    .map((r) => {
      const what = r.schema === null ? '' : (componentOf(r.schema) ?? r.contentType)
      return `${r.status}${what && ` ${what}`}`
    })
    .join(' or ')
  // A handler with access by role passes the whole request on.
  const used = [
    scopes !== null && 'principal',
    path_.length > 0 && 'params',
    query.length > 0 && 'query',
    body !== null && 'body',
  ].filter((name) => name !== false)
  const hasRole = projectAccess !== null || organizationAccess !== null
  const request = hasRole ? 'request' : used.length > 0 ? `{ ${used.join(', ')} }` : '_request'
  return `  // ${method.toUpperCase()} ${fullPath}: ${summary}. ${access}.${takes} Responses: ${answers}.
  async ${id} (${request}, ${method === 'get' ? '{ db }' : '{ db, events }'}) {
  }`
}
