// SECRET_KEY, or the key that the first start makes and keeps in the data folder.
import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { createCipher, type Cipher } from './cipher.ts'

/** The message is one sentence for the operator. */
export class SecretKeyError extends Error {}

type KeySettings = Pick<Config, 'secretKey' | 'previousSecretKey' | 'dataDir'>

/** @throws SecretKeyError */
export function openCipher({ secretKey, previousSecretKey, dataDir }: KeySettings): Cipher {
  const previous = previousSecretKey === null ? [] : [previousSecretKey]
  return createCipher(secretKey ?? readOrMake(dataDir), previous)
}

/** The key in `DATA_DIR/secret-key`. Of several processes that start at once, one makes it. */
function readOrMake(dataDir: string): string {
  const path = join(dataDir, 'secret-key')
  const known = read(path)
  if (known !== null) return known
  const unfinished = `${path}.${randomBytes(6).toString('hex')}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(unfinished, `${randomBytes(32).toString('hex')}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    })
    linkSync(unfinished, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, error)
  } finally {
    rmSync(unfinished, { force: true })
  }
  return read(path)!
}

function read(path: string): string | null {
  try {
    const key = readFileSync(path, 'utf8').trim()
    if (key.length >= 32) return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw unusable(path, error)
  }
  throw unusable(path, new Error('it is shorter than 32 characters'))
}

function unusable(path: string, error: unknown): SecretKeyError {
  return new SecretKeyError(
    `The file of the secret key, ${path}, cannot be used (${(error as Error).message}): restore it from a ` +
      'backup, let this user write in DATA_DIR, or set SECRET_KEY.',
  )
}
