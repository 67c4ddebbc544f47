// Writes a stub of the handler and of its test for each operation without a handler, and the default handlers
// of a resource with x-crud. Existing code is never changed; handlers and modules without an operation are
// reported.
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { operationIds, type CrudResource } from './crud/resources.ts'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'
import { handlersIn, noHandlers } from '@platform-api/generate/handlers-in.ts'
import { componentOf } from './schemas.ts'
import { writeTests } from './test-stubs.ts'
import { exportName } from './types.ts'

/** @param root the project's folder. @returns a line for each new stub and each unused handler or module. */
export async function writeStubs(
  root: string,
  operations: Operation[],
  resources: CrudResource[] = [],
): Promise<string[]> {
  const folder = join(root, 'handlers')
  const report: string[] = []
  const tags = new Set(operations.map((o) => o.tag))
  for (const tag of tags) {
    const own = operations.filter((o) => o.tag === tag)
    const file = join(folder, `${tag}.ts`)
    const before = (await readFile(file, 'utf8').catch(() => null)) ?? emptyModule(tag)
    const members = handlersIn(before, exportName(tag))
    if (members === null)
      throw new GenerateError(`${noHandlers(file, exportName(tag))}; no stub was written.`)
    const ofTag = resources.filter((resource) => resource.tag === tag)
    const lacking = ofTag.filter((one) => !isSpread(before, one) && lacksHandlers(one, members.present))
    const text = lacking.reduce(
      (module, one) => withDefaults(module, exportName(tag), one, resources),
      before,
    )
    if (text !== before) await writeFile(file, text)
    for (const { schema } of lacking)
      report.push(`handlers/${tag}.ts: wrote the default handlers of ${schema}`)
    const { present, end } = handlersIn(text, exportName(tag))!
    const byDefault = ofTag.filter((one) => isSpread(text, one)).flatMap((one) => idsOf(one))
    const missing = own.filter((o) => !present.includes(o.id) && !byDefault.includes(o.id))
    for (const name of present) {
      if (!own.some((o) => o.id === name))
        report.push(`handlers/${tag}.ts: ${name} is not in the spec; delete it if it is not needed`)
    }
    if (missing.length === 0) continue
    const head = text.slice(0, end).trimEnd()
    const comma = head.endsWith('{') || head.endsWith(',') ? '' : ','
    await writeFile(file, `${head}${comma}\n${missing.map(stub).join(',\n\n')}\n${text.slice(end)}`)
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

const idsOf = (resource: CrudResource): string[] => Object.values(operationIds(resource))

function lacksHandlers(resource: CrudResource, present: string[]): boolean {
  return !idsOf(resource).every((id) => present.includes(id))
}

function isSpread(text: string, { schema }: CrudResource): boolean {
  return text.includes(`resourceHandlers('${schema}'`)
}

/** The module with the default handlers of the resource, first in its object, and with what they import. */
function withDefaults(text: string, name: string, resource: CrudResource, all: CrudResource[]): string {
  const { schema, table, parent } = resource
  const tables = [table, ...all.filter((other) => other.schema === parent).map((outer) => outer.table)]
  const wanted = "import { resourceHandlers } from '../services/resources.ts'"
  const withSql = tables.reduce(withStatements, text)
  const module = /import \{[^}]*\bresourceHandlers\b/.test(withSql) ? withSql : withImport(withSql, wanted)
  const [sql, outer] = tables.map((each) => importedAs(module, each))
  const options = outer === undefined ? '' : `, { parent: ${outer} }`
  const { start } = handlersIn(module, name)!
  const after = module.slice(start)
  const spread = `\n  ...resourceHandlers('${schema}', ${sql}${options}),`
  return `${module.slice(0, start)}${spread}${after.startsWith('\n') ? '' : '\n'}${after}`
}

/** The name under which the module imports the statements of a table. */
function importedAs(module: string, table: string): string | undefined {
  return new RegExp(`import \\* as (\\w+) from '../generated/sql/${table}\\.ts'`).exec(module)?.[1]
}

function withStatements(module: string, table: string): string {
  if (importedAs(module, table) !== undefined) return module
  const name = module.includes('import * as sql from') ? `${exportName(table)}Sql` : 'sql'
  return withImport(module, `import * as ${name} from '../generated/sql/${table}.ts'`)
}

function withImport(module: string, line: string): string {
  const last = [...module.matchAll(/^(?:import .*|\} )from '[^']*'\n/gm)].at(-1)
  const at = last === undefined ? 0 : last.index + last[0].length
  return `${module.slice(0, at)}${line}\n${module.slice(at)}`
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
  const { scopes, pathParameters, queryParameters, body } = operation
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
    pathParameters.length > 0 && 'params',
    queryParameters.length > 0 && 'query',
    body !== null && 'body',
  ].filter((name) => name !== false)
  const hasRole = projectAccess !== null || organizationAccess !== null
  const request = hasRole ? 'request' : used.length > 0 ? `{ ${used.join(', ')} }` : '_request'
  return `  // ${method.toUpperCase()} ${fullPath}: ${summary}. ${access}.${takes} Responses: ${answers}.
  async ${id} (${request}, ${method === 'get' ? '{ db }' : '{ db, events }'}) {
  }`
}
