// Chooses the operating system account that runs PostgreSQL, which refuses to run as root. If root starts the
// server, PostgreSQL runs as an unprivileged account that owns only the database folder.
import { execFileSync, type SpawnOptions } from 'node:child_process'
import { accessSync, chownSync, constants, existsSync, statSync, type Stats } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { EmbeddedPostgresError, reasonOf } from './errors.ts'

export interface Account {
  /** The command, arguments and spawn options that run a PostgreSQL binary as this account. */
  run(
    binary: string,
    args: string[],
  ): { command: string; args: string[]; options: Pick<SpawnOptions, 'uid' | 'gid'> }
  /** Makes the account the owner of a file or an empty folder. */
  own(path: string): void
}

const ourselves: Account = {
  run: (command, args) => ({ command, args, options: {} }),
  own: () => {},
}

/** The account for a database folder, which need not exist yet, and for the binaries. */
export function accountFor(cluster: string, binary: string): Account {
  if (process.getuid?.() !== 0) return ourselves
  const { uid, gid } = unprivileged(cluster)
  const closed = closedParent(cluster, uid, gid) ?? closedParent(binary, uid, gid)
  return {
    run:
      closed === undefined
        ? (command, args) => ({ command, args, options: { uid, gid } })
        : throughClosed(closed, uid, gid),
    own: (path) => {
      try {
        chownSync(path, uid, gid)
      } catch (error) {
        throw new EmbeddedPostgresError(
          `${path} could not be given to the unprivileged account ${uid} that PostgreSQL needs ` +
            `(${reasonOf(error)}): start the server as an ordinary user, or set DATABASE_URL.`,
        )
      }
    },
  }
}

function unprivileged(cluster: string): { uid: number; gid: number } {
  const owner = existsSync(cluster) ? statSync(cluster) : undefined
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // This account does not exist; try the next one.
    }
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL refuses to run as root, and there is neither a postgres nor a nobody account: start ' +
      'the server as an ordinary user, or set DATABASE_URL.',
  )
}

function closedParent(path: string, uid: number, gid: number): string | undefined {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (existsSync(folder) && !maySearch(statSync(folder), uid, gid)) return folder
    if (folder === dirname(folder)) return undefined
  }
}

function maySearch(folder: Stats, uid: number, gid: number): boolean {
  if (folder.uid === uid) return (folder.mode & 0o100) !== 0
  if (folder.gid === gid) return (folder.mode & 0o010) !== 0
  return (folder.mode & 0o001) !== 0
}

/**
 * Below a closed folder, such as /root, the account keeps root's right to pass through it and nothing else of
 * root. no_setuid_fixup makes access(2), with which PostgreSQL looks for its own binary, count that right
 * too.
 */
function throughClosed(closed: string, uid: number, gid: number): Account['run'] {
  const setpriv = onPath('setpriv')
  if (setpriv === undefined) {
    throw new EmbeddedPostgresError(
      `PostgreSQL cannot run as root, and the folder ${closed} is closed to the account ${uid} that ` +
        `would run it: allow passing through (chmod o+x ${closed}), move the project, or start the ` +
        'server as an ordinary user.',
    )
  }
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  const right = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--securebits=+no_setuid_fixup']
  return (binary, args) => ({ command: setpriv, args: [...identity, ...right, binary, ...args], options: {} })
}

function onPath(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/bin']
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
