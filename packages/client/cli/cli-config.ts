// The address and the key: of the environment, or of `platform login`.
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createPlatformClient, type PlatformClient } from '../../../generated/client/index.js'
import { CommandError } from './cli-io.ts'

/** A server and a key for it. */
export interface Account {
  url: string
  key: string
}

/** The folder of the settings, and of the uploads that are not complete. */
export function configFolder(): string {
  const { XDG_CONFIG_HOME } = process.env
  return join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'platform')
}

const configFile = (): string => join(configFolder(), 'config.json')

/** Writes a file that only its owner may read. A crash leaves the old one. */
export async function writePrivate(file: string, text: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}.tmp`
  await writeFile(temporary, text, { mode: 0o600 })
  // The mode of writeFile has no effect on a file that an earlier crash left.
  await chmod(temporary, 0o600)
  await rename(temporary, file)
}

export async function saveAccount(account: Account): Promise<string> {
  await writePrivate(configFile(), `${JSON.stringify(account, null, 2)}\n`)
  return configFile()
}

export async function forgetAccount(): Promise<void> {
  await rm(configFile(), { force: true })
}

/**
 * The environment wins. A saved key is sent only to the server that it was saved for.
 * @throws CommandError if there is no address or no key.
 */
export async function account(): Promise<Account> {
  const url = urlInEnvironment()
  const key = process.env.PLATFORM_API_KEY?.trim() || undefined
  const saved = await readSaved()
  const isSaved = saved !== null && (url === undefined || originOf(url) === originOf(saved.url))
  const chosen = { url: url ?? saved?.url, key: key ?? (isSaved ? saved.key : undefined) }
  if (chosen.url === undefined)
    throw new CommandError('Log in first: `platform login`, or set PLATFORM_URL and PLATFORM_API_KEY.')
  if (chosen.key === undefined)
    throw new CommandError(`There is no key for ${chosen.url}: \`platform login\`, or set PLATFORM_API_KEY.`)
  return { url: chosen.url, key: chosen.key }
}

/** PLATFORM_URL, or the name that the libraries read. */
export function urlInEnvironment(): string | undefined {
  return process.env.PLATFORM_URL?.trim() || process.env.PLATFORM_BASE_URL?.trim() || undefined
}

async function readSaved(): Promise<Account | null> {
  const text = await readFile(configFile(), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (text === null) return null
  try {
    const { url, key } = JSON.parse(text) as Partial<Account>
    if (typeof url === 'string' && typeof key === 'string') return { url, key }
  } catch {
    // Reported below.
  }
  throw new CommandError(`${configFile()} is not valid: run \`platform login\` again.`)
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}

export function clientOf({ url, key }: Account): PlatformClient {
  return createPlatformClient({ baseUrl: url, apiKey: key, userAgent: 'platform-cli' })
}
