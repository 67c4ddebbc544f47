// Holds the rows of the statements of prisma/sql against the types that the generator gave them.
import { readFileSync } from 'node:fs'

/** The TypeScript type of each column, by statement, as far as it has been read. */
const rowTypes: Record<string, Array<[column: string, type: string]>> = {}

/** Reads the columns of a statement from its module in generated/sql. Empty for one that returns no rows. */
function readRowTypes(label: string): Array<[column: string, type: string]> {
  const [domain] = label.split('/')
  const module = readFileSync(new URL(`../../../generated/sql/${domain}.ts`, import.meta.url), 'utf8')
  const [, row] = new RegExp(`(?:, (\\w+Row))?>\\(\n {2}'${label}',`).exec(module)!
  if (row === undefined) return []
  const [, body] = new RegExp(`^export interface ${row} \\{\n(.*?)^\\}`, 'ms').exec(module)!
  return [...body.matchAll(/^ {2}"?(.+?)"?: (.+)$/gm)].map(([, column, type]) => [column, type])
}

/** Throws when a value does not have the type of its column. @param label the statement's `domain/name`. */
export function requireRowTypes(label: string, rows: unknown[]): void {
  const types = (rowTypes[label] ??= readRowTypes(label))
  for (const row of rows as Array<Record<string, unknown>>) {
    // A page past the end has one row, with the total only.
    if ('total' in row && row['id'] === null) continue
    for (const [column, type] of types) {
      if (!fits(row[column], type))
        throw new Error(
          `${label}: the column ${column} has the type ${type}, and the value ${JSON.stringify(row[column])}`,
        )
    }
  }
}

const primitives = ['string', 'number', 'boolean']

/** Whether the value has the type, as far as the type is one of primitives, literals, arrays and null. */
function fits(value: unknown, type: string): boolean {
  if (value === undefined) return false
  const members = type.split(' | ')
  if (value === null) return members.includes('null') || members.includes('unknown')
  if (members.some((member) => member.endsWith('[]'))) return Array.isArray(value)
  if (members.every((member) => member === 'null' || /^'.*'$/.test(member)))
    return members.includes(`'${value as string}'`)
  const named = members.filter((member) => primitives.includes(member))
  return named.length === 0 || named.includes(typeof value)
}
