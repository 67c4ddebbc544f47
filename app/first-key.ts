// Hands the first API key to the operator: on a terminal, else in a file that only the account of the server
// can read. A log would keep it for good, and others read logs.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from '../infra/encryption/private-file.ts'

/** Where the first key is: to be shown on the terminal, or in a file. */
export type FirstKey = { secret: string } | { file: string }

/** Writes the first key to its file. @throws FirstKeyError */
export function writeFirstKey(dataDir: string, secret: string): FirstKey {
  const file = join(dataDir, 'first-api-key')
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writePrivateFile(file, `${secret}\n`)
  } catch (error) {
    throw new FirstKeyError(
      `The first API key cannot be written to ${file} (${(error as Error).message}): let this user write ` +
        'in DATA_DIR, or set BOOTSTRAP_API_KEY.',
    )
  }
  return { file }
}

/** The message is one sentence for the operator. */
export class FirstKeyError extends Error {}

export function firstKeyMessage(file: string): string {
  return `Your API key is in the file ${file}. Delete the file when you have the key.`
}

/** The lines for the operator about the first key and a first request. */
export function firstKeyLines(
  firstKey: FirstKey,
  url: string,
  bold: (text: string) => string = (text) => text,
): string[] {
  const isFile = 'file' in firstKey
  const key = isFile ? `$(cat ${quoted(firstKey.file)})` : firstKey.secret
  return [
    isFile
      ? `  ${firstKeyMessage(firstKey.file)}`
      : `  Your API key (shown only once):  ${bold(firstKey.secret)}`,
    '',
    '  Try it:',
    `    curl ${url}/v1/projects \\`,
    `      -H "Authorization: Bearer ${key}" \\`,
    '      -H \'Content-Type: application/json\' -d \'{"name": "My first project"}\'',
    '',
    '  To sign in with a password:  npm run admin -- password-link',
    '',
  ]
}

/** For a shell. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`
}
