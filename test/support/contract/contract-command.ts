// Runs `npm run contract` as a process.
import { execFile, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

const script = join(import.meta.dirname, '../../../packages/contract/main.ts')
const profile = join(import.meta.dirname, '../../../scripts/profiles/contract.ts')

export interface ExitResult {
  code: number
  out: string
  err: string
}

export function runContractCommand(...args: string[]): Promise<ExitResult> {
  return startContractCommand(args, () => {})
}

/** @param onStart gets the process, to send it signals. */
export function startContractCommand(
  args: string[],
  onStart: (child: ChildProcess) => void,
): Promise<ExitResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [script, '--profile', profile, ...args],
      { maxBuffer: 64 * 1024 * 1024, env: { ...process.env, CONTRACT_KEY: undefined } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
    onStart(child)
  })
}
