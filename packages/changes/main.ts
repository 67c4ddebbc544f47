// `npm run toolkit -- changes BEFORE AFTER`: lists the changes between two OpenAPI documents, as breaking,
// safe or documentation only, each with its rule and place.
//   --profile FILE  a module that exports a ChangesProfile; default openapi
//   --config FILE   the configuration; default: toolkit.config.ts, .mts, .js or .json here
//   --json          prints JSON
//   --breaking      lists only breaking changes
//   --allow-remote  opens references to URLs
// Exit code: 0 without breaking changes, 1 with some, 2 if something cannot be read.
import { parseArgs } from 'node:util'
import { answerHelp, isMain, messageOf } from '@platform-api/openapi/command-help.ts'
import { ConfigError, configOption, loadConfig } from '@platform-api/openapi/config.ts'
import { loadProfile, ProfileError } from '@platform-api/openapi/profile.ts'
import { remoteOption } from '@platform-api/openapi/resolver.ts'
import { acceptor, readAccepted, requireAccepted } from './accepted.ts'
import { changesBetween } from './located-change.ts'
import { openapi } from './profile.ts'
import { report, unannounced } from './report.ts'
import { UsageError } from './usage-error.ts'

/**
 * Runs the command. @returns its exit code.
 * @param folder the documents' paths start here.
 */
export async function runCommand(
  args: string[],
  folder = process.cwd(),
  { log, error: logError }: Pick<Console, 'log' | 'error'> = console,
): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: {
        profile: { type: 'string' },
        json: { type: 'boolean', default: false },
        breaking: { type: 'boolean', default: false },
        ...remoteOption,
        ...configOption,
      },
      allowPositionals: true,
    })
    const [before, after, ...others] = positionals
    if (after === undefined || others.length > 0) throw new UsageError('Pass two OpenAPI documents.')
    const { profile: configured = 'openapi', accepted = [] } =
      (await loadConfig(values.config, folder)).changes ?? {}
    const profile = await loadProfile(values.profile ?? configured, { openapi })
    const { reasonFor, problems } = acceptor(
      typeof accepted === 'string'
        ? readAccepted(accepted, accepted)
        : requireAccepted(accepted, 'changes.accepted'),
      new Date(),
    )
    const all = await changesBetween(folder, [before, after], {
      profile,
      allowRemote: values['allow-remote'],
      notice: logError,
    })
    const changes = all
      .filter(({ weight }) => !values.breaking || weight === 'breaking')
      .map((change) => ({ ...change, accepted: reasonFor(change) }))
    const { errors, notes } = problems(all)
    for (const line of [...errors, ...notes]) logError(`changes.accepted: ${line}`)
    log(
      values.json
        ? JSON.stringify(changes, null, 2)
        : report(changes, { ref: null, name: before }, values.breaking),
    )
    return errors.length > 0 || unannounced(changes).length > 0 ? 1 : 0
  } catch (error) {
    const isKnown =
      error instanceof UsageError || error instanceof ProfileError || error instanceof ConfigError
    if (!isKnown && !(error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')) throw error
    logError(messageOf(error))
    return 2
  }
}

if (isMain(import.meta)) {
  answerHelp(import.meta)
  process.exitCode = await runCommand(process.argv.slice(2))
}
