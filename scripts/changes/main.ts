// `npm run changes -- <git ref>`: lists the changes of the contract since a git ref or the last release, as
// breaking, safe or documentation only, each with its rule and place. Fails on a breaking change that was
// not announced.
// `npm run changes -- before.yaml after.json`: the same for any two OpenAPI documents.
// spec/accepted-breaks.json lists the breaking changes of this project that are accepted for a time.
//   --json      prints JSON
//   --breaking  lists only breaking changes
// Exit code: 0 without breaking changes, 1 with some, 2 if something cannot be read.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { acceptor } from '@platform-api/changes/accepted.ts'
import { report, unannounced } from '@platform-api/changes/report.ts'
import { UsageError } from '@platform-api/changes/usage-error.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'
import { acceptedFile, acceptedIn } from './accepted.ts'
import { lastRelease, type Release } from './release.ts'
import { changesSince } from './since.ts'

answerHelp(import.meta)

interface Options {
  json: boolean
  breaking: boolean
}

function compareWithRelease(folder: string, release: Release, options: Options): void {
  const changes = changesSince(folder, release.ref).filter(
    ({ weight }) => !options.breaking || weight === 'breaking',
  )
  console.log(options.json ? JSON.stringify(changes, null, 2) : report(changes, release, options.breaking))
  const problems = acceptor(acceptedIn(folder), new Date()).problems(changes)
  for (const problem of problems.errors) console.error(`${acceptedFile}: ${problem}`)
  if (!options.json) for (const note of problems.notes) console.log(`${acceptedFile}: ${note}`)
  if (problems.errors.length > 0) process.exitCode = 1
  const { length } = unannounced(changes)
  if (length === 0) return
  process.exitCode = 1
  if (!options.json)
    console.error(
      `\n${length} ${length === 1 ? 'change breaks' : 'changes break'} clients of v1. ` +
        'Undo them, announce them first with `deprecated: true` and `x-sunset`, ' +
        `or accept them in ${acceptedFile}.`,
    )
}

try {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean', default: false }, breaking: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [given, after, ...others] = positionals
  if (others.length > 0)
    throw new UsageError(
      'Pass at most one git ref, such as `main` or `v1.3.0`, or two files. Default: the last release.',
    )
  if (after !== undefined) {
    // npm changes the working directory to that of the project.
    if (process.env.npm_lifecycle_event === 'changes') process.chdir(process.env.INIT_CWD || '.')
    const profile = resolve(import.meta.dirname, '../profiles/changes.ts')
    const { runCommand } = await import('@platform-api/changes/main.ts')
    process.exitCode = await runCommand([...process.argv.slice(2), '--profile', profile])
  } else {
    const folder = resolve(import.meta.dirname, '../..')
    const release = given === undefined ? lastRelease(folder) : { ref: given, name: given }
    if ('missing' in release)
      console.log(values.json ? '[]' : `There is no release to compare with: ${release.missing}.`)
    else compareWithRelease(folder, release, values)
  }
} catch (error) {
  if (!(error instanceof UsageError) && !(error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS'))
    throw error
  console.error(messageOf(error))
  process.exitCode = 2
}
