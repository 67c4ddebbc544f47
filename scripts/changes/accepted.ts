// Breaking changes that are accepted, each with a reason and the date until which that holds.
// spec/accepted-breaks.json is a list of
//   { "subject": "GET /things", "rule": "header-removed", "message": "the header Age",
//     "reason": "No client reads it; see …", "until": "2027-06-30" }
// `message` is optional: a part of the change's message, where a rule applies to several changes.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Change } from '@platform-api/changes/change.ts'
import { UsageError } from '@platform-api/changes/usage-error.ts'

export const acceptedFile = 'spec/accepted-breaks.json'

export interface Accepted {
  subject: string
  rule: string
  message?: string
  reason: string
  /** The last day, such as `2027-06-30`. */
  until: string
}

/** The list of the project in `folder`; empty without the file. Throws UsageError if it is malformed. */
export function readAccepted(folder: string): Accepted[] {
  const file = join(folder, acceptedFile)
  return existsSync(file) ? parseAccepted(readFileSync(file, 'utf8')) : []
}

export function parseAccepted(text: string): Accepted[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${acceptedFile}: ${(error as Error).message}`)
  }
  if (!Array.isArray(list)) throw new UsageError(`${acceptedFile} must be a list`)
  for (const [i, entry] of list.entries()) {
    const fail = (message: string): never => {
      throw new UsageError(`${acceptedFile}: entry ${i + 1} ${message}`)
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

export function acceptor(list: Accepted[], today: Date): Acceptor {
  const matches = (entry: Accepted, { weight, subject, rule, message }: Change): boolean =>
    weight === 'breaking' &&
    entry.subject === subject &&
    entry.rule === rule &&
    message.includes(entry.message ?? '')
  const day = today.toISOString().slice(0, 10)
  const nameOf = ({ subject, rule, message }: Accepted): string =>
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
