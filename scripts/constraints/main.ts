// `npm run constraints`: writes all constraints of the spec to test/contract/constraints.json and prints
// the changes. The tests check the server against this list, so a removed constraint appears in a diff for
// review.
//   --check   writes nothing and fails if the list is out of date
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createSpecLocator } from '../changes/spec-locator.ts'
import { documentOrigins } from '../generate/crud/origins.ts'
import { each, nameOf, type Constraint, type Constraints } from './constraints.ts'
import { pointerOf } from './edit.ts'
import { difference, readConstraints, readSpec, serialize } from './list.ts'
import { GenerateError } from '../generate/error.ts'
import { originOf } from '../generate/origins.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'

answerHelp(import.meta)

const root = resolve(import.meta.dirname, '../..')

export const listFile = join(root, 'test/contract/constraints.json')

/** A line for each constraint that was added, removed or changed since the list was written. */
export async function compareWithList(
  spec = join(root, 'spec/openapi.yaml'),
  file = listFile,
): Promise<{ lines: string[]; now: Constraints }> {
  const { document, constraints: now } = await readSpec(spec)
  const listed = existsSync(file) ? readConstraints(readFileSync(file, 'utf8')) : new Map()
  const folder = dirname(dirname(spec))
  const locate = createSpecLocator((name) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : null,
  )
  const origins = documentOrigins(document)
  const line =
    (change: string) =>
    (constraint: Constraint): string => {
      const pointer = originOf(origins, `#${pointerOf(document, constraint.place)}`).slice(1)
      const { file, line } = locate(pointer)
      return `${file}:${line} ${nameOf(constraint)} ${change}`
    }
  const { added, removed, changed } = difference(listed, now)
  return {
    lines: [...removed.map(line('removed')), ...changed.map(line('changed')), ...added.map(line('added'))],
    now,
  }
}

if (import.meta.main) {
  try {
    const { check } = parseArgs({ options: { check: { type: 'boolean', default: false } } }).values
    const { lines, now } = await compareWithList()
    for (const line of lines) console.log(line)
    const count = [...each(now)].length
    if (!check) writeFileSync(listFile, serialize(now))
    const changes = `${lines.length} ${lines.length === 1 ? 'change' : 'changes'} in ${count} constraints`
    console.log(
      lines.length === 0
        ? `The list of ${count} constraints is up to date.`
        : check
          ? `${changes}. Review them and run \`npm run constraints\`.`
          : `${changes}. The list is now up to date.`,
    )
    if (check && lines.length > 0) process.exitCode = 1
  } catch (error) {
    if (!(error instanceof GenerateError) && !(error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS'))
      throw error
    console.error(messageOf(error))
    process.exitCode = 2
  }
}
