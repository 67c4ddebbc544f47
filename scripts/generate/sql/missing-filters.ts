// The query parameters that a list does not know: neither its file in prisma/sql nor a module that calls it
// has the name. The compiler reports them too, but not what to write where.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../model.ts'
import { camelCase, placed, sqlFiles } from './source.ts'
import { callingModules } from './unused.ts'

type ListOperation = Pick<Operation, 'id' | 'tag' | 'queryParameters'>

/** What every list has or gets by `@common`, and the project, which handlers open. */
const common = /^(page|limit|cursor|sort|order|include|metadata|(created|updated)_(after|before)|project_id)$/

/** @returns a message with its place for each such parameter of the operations. */
export function missingFilters(folder: string, operations: ListOperation[]): string[] {
  const files = new Map(sqlFiles(folder).map((file) => [camelCase(file.replace(/^.*\/|\.sql$/g, '')), file]))
  const modules = callingModules(folder)
  return operations.flatMap(({ id, tag, queryParameters: query }) => {
    const file = files.get(id)
    const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
    if (file === undefined || !text.includes('-- @page')) return []
    const handlers = join(folder, 'handlers', `${tag}.ts`)
    const callers = modules.filter(({ text }) => text.includes(`sql.${id}(`)).map(({ text }) => text)
    const code = [...callers, existsSync(handlers) ? readFileSync(handlers, 'utf8') : ''].join('\n')
    return query
      .map(({ name }) => name)
      .filter((name) => !common.test(name) && !new RegExp(`(-- @filter ${name}|:${name})\\b`).test(text))
      .filter((name) => !new RegExp(`\\b${name}\\b(?!: \\d)`).test(code))
      .map((name) => {
        const cure = `write \`-- @filter ${name}\` and its condition above \`-- @sort\``
        return placed(folder, file, 0, `no condition for the parameter \`${name}\` of ${id}: ${cure}`)
      })
  })
}
