import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes a whole file that only the account of the server can read. */
export function writePrivateFile(file: string, text: string): void {
  const unfinished = `${file}.new`
  rmSync(unfinished, { force: true })
  writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' })
  renameSync(unfinished, file)
}
