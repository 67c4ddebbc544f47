// `npm run changes -- <git ref>`: lists the changes of the contract since a git ref or the last release, as
// breaking, safe or documentation only, each with its rule and place. Fails on a breaking change that was
// not announced.
// spec/accepted-breaks.json lists the breaking changes that are accepted for a time.
//   --json      prints JSON
//   --breaking  lists only breaking changes
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { acceptedFile, acceptor, readAccepted } from './accepted.ts'
import { announcementOf } from './announced.ts'
import type { Change, Weight } from './change.ts'
import { compareContracts } from './compare.ts'
import { createLocator } from './source-locations.ts'
import { lastRelease, type Release } from './release.ts'
import { UsageError } from './usage-error.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

export interface LocatedChange extends Change {
  file: string
  line: number
  /** How a breaking change was announced, or null. */
  announced: string | null
  /** Why a breaking change is accepted, or null. */
  accepted: string | null
}

/**
 * The changes of the contract since the git ref. Throws if git does not know the ref or it has no contract.
 */
export function changesSince(folder: string, ref: string, today = new Date()): LocatedChange[] {
  const before = JSON.parse(show(folder, ref, 'generated/openapi.json')!)
  const after = JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8'))
  const locate = {
    before: createLocator((file) => show(folder, ref, file, { optional: true })),
    after: createLocator((file) =>
      existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : null,
    ),
  }
  const accepted = acceptor(readAccepted(folder), today)
  return compareContracts(before, after).map((change) => ({
    ...change,
    ...locate[change.place.side](change.place.pointer),
    announced: change.weight === 'breaking' ? announcementOf(before, change, today) : null,
    accepted: change.weight === 'breaking' ? accepted.reasonFor(change) : null,
  }))
}

function show(folder: string, ref: string, file: string, { optional = false } = {}): string | null {
  try {
    return execFileSync('git', ['show', `${ref}:./${file}`], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    if (optional) return null
    throw new UsageError(
      `Cannot read ${file} at ${ref}: ${String((error as { stderr?: string }).stderr).trim()}`,
    )
  }
}

const headings: Record<Weight, string> = {
  breaking: 'Breaking',
  safe: 'Safe',
  documentation: 'Documentation only',
}

function report(changes: LocatedChange[], { ref, name }: Release, onlyBreaking: boolean): string {
  if (changes.length === 0)
    return onlyBreaking ? `No breaking changes since ${name}.` : `No changes since ${name}.`
  return `Since ${name}:\n\n${(['breaking', 'safe', 'documentation'] as const)
    .flatMap((weight) => {
      const own = changes.filter((change) => change.weight === weight)
      if (own.length === 0) return []
      const lines = own.map(
        ({ subject, message, rule, file, line, place, announced, accepted }) =>
          `  ${file}:${line}${place.side === 'before' ? ` at ${ref}` : ''}  ` +
          `${subject}: ${message} (${rule})` +
          (announced === null ? '' : ` [${announced}]`) +
          (accepted === null ? '' : ` [accepted: ${accepted}]`),
      )
      return [`${headings[weight]}: ${own.length}`, ...lines, '']
    })
    .join('\n')
    .trimEnd()}`
}

if (import.meta.main) {
  try {
    const { values, positionals } = parseArgs({
      options: { json: { type: 'boolean', default: false }, breaking: { type: 'boolean', default: false } },
      allowPositionals: true,
    })
    const [given, ...others] = positionals
    if (others.length > 0)
      throw new UsageError('Pass at most one git ref, such as `main` or `v1.3.0`. Default: the last release.')
    const folder = resolve(import.meta.dirname, '../..')
    const release = given === undefined ? lastRelease(folder) : { ref: given, name: given }
    if ('missing' in release) {
      console.log(values.json ? '[]' : `There is no release to compare with: ${release.missing}.`)
      process.exit(0)
    }
    const changes = changesSince(folder, release.ref).filter(
      ({ weight }) => !values.breaking || weight === 'breaking',
    )
    console.log(values.json ? JSON.stringify(changes, null, 2) : report(changes, release, values.breaking))
    const problems = acceptor(readAccepted(folder), new Date()).problems(changes)
    for (const problem of problems.errors) console.error(`${acceptedFile}: ${problem}`)
    if (!values.json) for (const note of problems.notes) console.log(`${acceptedFile}: ${note}`)
    if (problems.errors.length > 0) process.exitCode = 1
    const unannounced = changes.filter(
      ({ weight, announced, accepted }) => weight === 'breaking' && announced === null && accepted === null,
    )
    if (unannounced.length > 0) {
      if (!values.json)
        console.error(
          `\n${unannounced.length} ` +
            `${unannounced.length === 1 ? 'change breaks' : 'changes break'} clients of v1. ` +
            'Undo them, announce them first with `deprecated: true` and `x-sunset`, ' +
            `or accept them in ${acceptedFile}.`,
        )
      process.exitCode = 1
    }
  } catch (error) {
    if (!(error instanceof UsageError) && !(error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS'))
      throw error
    console.error((error as Error).message)
    process.exitCode = 2
  }
}
