// `npm run constraints`: writes test/contract/constraints.json, what the spec demands of every value, and says what has changed since.
// The tests hold the server against this list: a constraint that goes, goes from it too, in a diff that somebody reads.
//   --check   writes nothing and fails when the list is not what the spec says
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createPlaces } from '../changes/source-locations.ts'
import { each, nameOf, type Constraint, type Constraints } from './constraints.ts'
import { pointerOf } from './edit.ts'
import { difference, readConstraints, readSpec, written } from './list.ts'
import { GenerateError } from '../generate/error.ts'

const root = resolve(import.meta.dirname, '../..')

export const listFile = join(root, 'test/contract/constraints.json')

/** A line for each constraint that the spec has and the list has not, or the other way round. */
export async function compareWithList(
  spec = join(root, 'spec/openapi.yaml'),
  file = listFile,
): Promise<{ lines: string[]; now: Constraints }> {
  const { document, constraints: now } = await readSpec(spec)
  const listed = existsSync(file) ? readConstraints(readFileSync(file, 'utf8')) : new Map()
  const placeOf = createPlaces((name) =>
    existsSync(join(root, name)) ? readFileSync(join(root, name), 'utf8') : null,
  )
  const line =
    (said: string) =>
    (constraint: Constraint): string => {
      const { file, line } = placeOf(pointerOf(document, constraint.place))
      return `${file}:${line} ${nameOf(constraint)} ${said}`
    }
  const { added, removed, changed } = difference(listed, now)
  return {
    lines: [
      ...removed.map(line('is gone')),
      ...changed.map(line('is another')),
      ...added.map(line('is new')),
    ],
    now,
  }
}

if (import.meta.main) {
  try {
    const { check } = parseArgs({ options: { check: { type: 'boolean', default: false } } }).values
    const { lines, now } = await compareWithList()
    for (const line of lines) console.log(line)
    const count = [...each(now)].length
    if (!check) writeFileSync(listFile, written(now))
    console.log(
      lines.length === 0
        ? `The ${count} constraints of the spec are as listed.`
        : `${lines.length} of ${count} constraints are not as listed${check ? '; see what they mean and run `npm run constraints`' : ' before; the list has them now'}.`,
    )
    if (check && lines.length > 0) process.exitCode = 1
  } catch (error) {
    if (!(error instanceof GenerateError) && !(error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS'))
      throw error
    console.error((error as Error).message)
    process.exitCode = 2
  }
}
