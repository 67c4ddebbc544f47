// Runs a command: an error that the operator can mend is one sentence on stderr, and the exit code is 1.
import { BackupError } from '../../infra/backup/errors.ts'
import { ApiError } from '../../infra/errors.ts'

/** The command failed; the message is one sentence for the operator. */
export class CommandError extends Error {}

export async function runCommand(main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    console.error((await explain(error)) ?? error)
    process.exitCode = 1
  }
}

/** @returns null for an error in the program. */
async function explain(error: unknown): Promise<string | null> {
  if (error instanceof CommandError || error instanceof BackupError) return error.message
  if (!(error instanceof ApiError)) {
    // Only now: it loads the whole server, which a command may not need.
    const { explainStartupError } = await import('../../app/startup-errors.ts')
    return explainStartupError(error)
  }
  const { message, cause } = error
  return cause instanceof Error ? `${message} The reason: ${cause.name}, ${cause.message}` : message
}

/** Parses the arguments. If they are wrong, prints the reason and the usage, and exits with 2. */
export function readArguments<T>(usage: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}
