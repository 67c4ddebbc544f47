// Runs `npm run contract`.
import { execFile, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { runCommand } from '../../../packages/contract/main.ts'

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

/** Runs the command in this process. An error that it does not handle fails the test. */
export async function runContractHere(...args: string[]): Promise<ExitResult> {
  let [out, err] = ['', '']
  const code = await runCommand(['--profile', profile, ...args], (text) => (out += `${text}\n`), {
    isTTY: false,
    write: (text: string | Uint8Array) => (err += String(text)) !== '',
  })
  return { code, out, err }
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
