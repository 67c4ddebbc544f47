// The modules of the parser processes as JavaScript, in JSON. Their types are stripped once, in a separate
// process: it would block this one for 0.2 s, and Node warns that the function is experimental.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

let modules: Promise<string> | undefined

export async function sandboxModules(): Promise<string> {
  modules ??= stripTypes()
  try {
    return await modules
  } catch (error) {
    // The next document tries again.
    modules = undefined
    throw error
  }
}

async function stripTypes(): Promise<string> {
  const { SystemRoot } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', join(import.meta.dirname, 'strip-types.mjs')],
    { env: SystemRoot === undefined ? {} : { SystemRoot }, maxBuffer: 2 ** 24, windowsHide: true },
  )
  return stdout
}
