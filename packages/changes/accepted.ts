// Breaking changes that are accepted, each with a reason and the date until which that holds. The list is in
// the configuration, or in a file of its own:
//   { "subject": "GET /things", "rule": "header-removed", "message": "the header Age",
//     "reason": "No client reads it; see …", "until": "2027-06-30" }
// `message` is optional: a part of the change's message, where a rule applies to several changes.
import { existsSync, readFileSync } from 'node:fs'
import type { AcceptedBreak } from '@platform-api/openapi/config.ts'
import type { Change } from './change.ts'
import { UsageError } from './usage-error.ts'

/** The list in the file. Throws UsageError if it is malformed. @param name of the file, for messages. */
export function readAccepted(file: string, name: string): AcceptedBreak[] {
  if (!existsSync(file)) throw new UsageError(`There is no file ${name}`)
  let list: unknown
  try {
    list = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${name}: ${(error as Error).message}`)
  }
  return requireAccepted(list, name)
}

/** Throws UsageError if the list is malformed. */
export function requireAccepted(list: unknown, name: string): AcceptedBreak[] {
  if (!Array.isArray(list)) throw new UsageError(`${name} must be a list`)
  for (const [i, entry] of list.entries()) {
    const fail = (message: string): never => {
      throw new UsageError(`${name}: entry ${i + 1} ${message}`)
    }
    for (const key of ['subject', 'rule', 'reason', 'until'])
      if (typeof entry?.[key] !== 'string' || entry[key].trim() === '') fail(`must have the text \`${key}\``)
    for (const key of Object.keys(entry))
      if (!['subject', 'rule', 'message', 'reason', 'until'].includes(key))
        fail(`has the unknown key \`${key}\``)
    if (!isDay(entry.until)) fail('must have a date such as 2027-06-30 as `until`')
  }
  return list
}

function isDay(text: string): boolean {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text
}

export interface Acceptor {
  /** Why the change is accepted; null if no entry accepts it, or only one that has ended. */
  reasonFor(change: Change): string | null
  /** An entry that has ended is an error, one that accepts nothing a note. */
  problems(changes: Change[]): { errors: string[]; notes: string[] }
}

export function acceptor(list: AcceptedBreak[], today: Date): Acceptor {
  const matches = (entry: AcceptedBreak, { weight, subject, rule, message }: Change): boolean =>
    weight === 'breaking' &&
    entry.subject === subject &&
    entry.rule === rule &&
    message.includes(entry.message ?? '')
  const day = today.toISOString().slice(0, 10)
  const nameOf = ({ subject, rule, message }: AcceptedBreak): string =>
    `${subject} (${rule}${message === undefined ? '' : `, ${message}`})`
  const [current, ended] = [list.filter(({ until }) => until >= day), list.filter(({ until }) => until < day)]
  return {
    reasonFor(change) {
      const entry = current.find((each) => matches(each, change))
      return entry === undefined ? null : `${entry.reason}, until ${entry.until}`
    },
    problems(changes) {
      return {
        errors: ended.map(
          (entry) => `${nameOf(entry)} was accepted until ${entry.until}: undo the change, or decide again`,
        ),
        notes: current
          .filter((entry) => !changes.some((change) => matches(entry, change)))
          .map((entry) => `${nameOf(entry)} is no longer a change: delete the entry`),
      }
    },
  }
}
