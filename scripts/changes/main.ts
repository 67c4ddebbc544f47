// `npm run changes -- <git ref>`: what has changed in the contract since then, or since the last release, sorted into breaking, safe and documentation only, each with its rule and
// its place. Fails when something breaks that was not announced.
//   --json      as JSON, for other tools
//   --breaking  nothing but what breaks
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { acknowledgement } from './announced.ts'
import type { Change, Weight } from './change.ts'
import { compareContracts } from './compare.ts'
import { createPlaces } from './source-locations.ts'
import { lastRelease, type Release } from './release.ts'

export interface PlacedChange extends Change {
  file: string
  line: number
  /** What excuses it, where it breaks something. */
  acknowledged: string | null
}

/** What has changed in the contract of the project in `folder` since the git ref. Throws when git does not know it, or there was none. */
export function changesSince(folder: string, ref: string, today = new Date()): PlacedChange[] {
  const before = JSON.parse(show(folder, ref, 'generated/openapi.json')!)
  const after = JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8'))
  const places = {
    before: createPlaces((file) => show(folder, ref, file, { optional: true })),
    after: createPlaces((file) =>
      existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : null,
    ),
  }
  return compareContracts(before, after).map((change) => ({
    ...change,
    ...places[change.place.side](change.place.pointer),
    acknowledged: change.weight === 'breaking' ? acknowledgement(before, change, today) : null,
  }))
}

class UsageError extends Error {}

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
      `There is no ${file} at ${ref}: ${String((error as { stderr?: string }).stderr).trim()}`,
    )
  }
}

const headings: Record<Weight, string> = {
  breaking: 'Breaking',
  safe: 'Safe',
  documentation: 'Documentation only',
}

function report(changes: PlacedChange[], { ref, name }: Release, breakingAlone: boolean): string {
  if (changes.length === 0)
    return breakingAlone
      ? `Nothing breaks what there was at ${name}.`
      : `The contract is what it was at ${name}.`
  return `Since ${name}:\n\n${(['breaking', 'safe', 'documentation'] as const)
    .flatMap((weight) => {
      const own = changes.filter((change) => change.weight === weight)
      if (own.length === 0) return []
      const lines = own.map(
        ({ subject, says, rule, file, line, place, acknowledged }) =>
          `  ${file}:${line}${place.side === 'before' ? ` at ${ref}` : ''}  ${subject}: ${says} (${rule})${acknowledged === null ? '' : ` [${acknowledged}]`}`,
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
      throw new UsageError(
        'It takes one git ref, such as `main` or `v1.3.0`; without one it is the last release.',
      )
    const folder = resolve(import.meta.dirname, '../..')
    const release = given === undefined ? lastRelease(folder) : { ref: given, name: given }
    if ('missing' in release) {
      console.log(values.json ? '[]' : `The contract was compared with no release: ${release.missing}.`)
      process.exit(0)
    }
    const changes = changesSince(folder, release.ref).filter(
      ({ weight }) => !values.breaking || weight === 'breaking',
    )
    console.log(values.json ? JSON.stringify(changes, null, 2) : report(changes, release, values.breaking))
    const unannounced = changes.filter(
      (change) => change.weight === 'breaking' && change.acknowledged === null,
    )
    if (unannounced.length > 0) {
      if (!values.json)
        console.error(
          `\n${unannounced.length} ${unannounced.length === 1 ? 'change breaks' : 'changes break'} clients of v1. Keep what was there, or announce its end with \`deprecated: true\` and \`x-sunset\` first.`,
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
