// Loads a profile: the object that says what a server keeps beyond its OpenAPI document.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The option `--profile` names no profile. */
export class ProfileError extends Error {}

/**
 * @param name of a known profile, or the path of a module that exports a `profile`.
 * @throws ProfileError if it is neither.
 */
export async function loadProfile<Profile>(name: string, known: Record<string, Profile>): Promise<Profile> {
  if (Object.hasOwn(known, name)) return known[name]
  const file = resolve(name)
  const { profile } = existsSync(file)
    ? ((await import(pathToFileURL(file).href)) as { profile?: Profile })
    : { profile: undefined }
  if (profile !== undefined) return profile
  throw new ProfileError(
    `--profile must be ${Object.keys(known).join(' or ')}, or a module that exports \`profile\`, ` +
      `not ${name}.`,
  )
}
