// The files and commands of docs/high-availability.md on addresses of loopback: 10.0.0.11 of the page becomes
// one of them, with the same port.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { recordedPid } from '../../../infra/postgres/orphan-processes.ts'
import { signalPostgres } from './signal-postgres.ts'
import { inheritedEnvironment } from '../server/process.ts'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/high-availability.md'), 'utf8')
const binaries = '/usr/lib/postgresql/15/bin'

const missing = [
  '/usr/bin/patroni',
  '/usr/bin/etcd',
  '/usr/bin/etcdctl',
  '/usr/sbin/haproxy',
  `${binaries}/postgres`,
].filter((path) => !existsSync(path))

/** The `skip` option of a test that needs Patroni. */
export const skipWithoutPatroni =
  (missing.length > 0 && `no ${missing.join(', ')} on this machine`) ||
  (process.getuid?.() !== 0 && 'needs root, to run PostgreSQL as postgres')

/** The account of Debian's PostgreSQL, which refuses to run as root. */
function accountOfPostgres(): { uid: number; gid: number } {
  const { stdout } = spawnSync('getent', ['passwd', 'postgres'], { encoding: 'utf8' })
  const [, , uid, gid] = stdout.split(':').map(Number)
  return { uid, gid }
}

export interface Machine {
  name: 'one' | 'two' | 'three'
  address: string
  /** Where the paths of the page are. */
  folder: string
}

export class PatroniCluster {
  readonly machines: Machine[]
  readonly #t: Pick<Test, 'teardown'>
  /** Replaces the first three numbers of the addresses of the page. */
  readonly #network = `127.${randomInt(1, 255)}.${randomInt(0, 255)}`
  readonly #folder = mkdtempSync('/tmp/patroni-')
  readonly #account = accountOfPostgres()
  readonly #processes = new Map<string, ChildProcess>()

  constructor(t: Pick<Test, 'teardown'>) {
    this.#t = t
    chownSync(this.#folder, this.#account.uid, this.#account.gid)
    t.teardown(() => rmSync(this.#folder, { recursive: true, force: true }))
    this.machines = (['one', 'two', 'three'] as const).map((name, i) => {
      const folder = join(this.#folder, name)
      mkdirSync(folder)
      chownSync(folder, this.#account.uid, this.#account.gid)
      return { name, address: `${this.#network}.${11 + i}`, folder }
    })
  }

  /** The text of the page for one of the machines. */
  on(machine: Machine, text: string): string {
    const own = machine.address.split('.').at(-1)
    return text
      .replaceAll(/(LISTEN|ADVERTISE)(\S*=http:\/\/10\.0\.0\.)11/g, `$1$2${own}`)
      .replaceAll(/((?:listen|connect_address): 10\.0\.0\.)11/g, `$1${own}`)
      .replaceAll(/^((?:ETCD_NAME=|name: ))one$/gm, `$1${machine.name}`)
      .replaceAll('10.0.0.0/24', '127.0.0.0/8')
      .replaceAll('10.0.0.', `${this.#network}.`)
      .replaceAll(/\/(var|etc)\//g, `${machine.folder}/$1/`)
  }

  /** Writes a file of the page to a machine. @returns its path. */
  write(machine: Machine, name: string): string {
    const blocks = [...page.matchAll(/^```\w*\n([^]*?)^```/gm)].map(([, block]) => block)
    const block = blocks.find((text) => text.startsWith(`# ${name}\n`))
    if (block === undefined) throw new Error(`the page has no ${name}`)
    const path = join(machine.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, this.on(machine, block))
    return path
  }

  startEtcd(machine: Machine): void {
    const lines = readFileSync(this.write(machine, '/etc/default/etcd'), 'utf8').split('\n')
    const env = lines.filter((line) => line.startsWith('ETCD_')).map((line) => line.split(/=(.*)/, 2))
    const folder = join(machine.folder, 'var/lib/etcd')
    this.#own(folder)
    this.#start(`etcd ${machine.name}`, '/usr/bin/etcd', [], Object.fromEntries(env))
  }

  startPatroni(machine: Machine): void {
    const file = this.write(machine, '/etc/patroni/config.yml')
    for (const folder of ['var/lib/postgresql/15', 'var/run/postgresql'])
      this.#own(join(machine.folder, folder))
    this.#start(`patroni ${machine.name}`, '/usr/bin/patroni', [file])
  }

  startHaproxy(): void {
    const file = this.write(this.machines[0], '/etc/haproxy/haproxy.cfg')
    this.#start('haproxy', '/usr/sbin/haproxy', ['-db', '-f', file])
  }

  /** Kills Patroni and its PostgreSQL, as when the machine loses its power. */
  async kill(machine: Machine): Promise<void> {
    const patroni = this.#processes.get(`patroni ${machine.name}`)!
    patroni.kill('SIGKILL')
    await once(patroni, 'exit')
    this.killPostgres(machine)
  }

  killPostgres({ folder }: Machine): void {
    const pid = recordedPid(join(folder, 'var/lib/postgresql/15/platform/postmaster.pid'))
    if (pid !== undefined) signalPostgres(pid, 'SIGKILL')
  }

  /** The address of PostgreSQL's superuser there. */
  superuserUrl({ address }: Machine): string {
    return `postgres://postgres:SUPERUSER_PASSWORD@${address}:5432/platform`
  }

  /** Runs a command of the page on a machine. */
  async run(
    command: string,
    {
      on = this.machines[0],
      env = {},
      isWritten = true,
    }: { on?: Machine; env?: Record<string, string>; isWritten?: boolean } = {},
  ): Promise<string> {
    if (isWritten && !page.includes(command)) throw new Error(`the page has no ${command}`)
    const here = this.on(on, command)
      .replaceAll('_password=...', '_password=secret')
      .replaceAll(':...@', ':secret@')
    const child = spawn('sh', ['-c', here], {
      cwd: root,
      env: { ...inheritedEnvironment(), ETCDCTL_API: '3', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${here}\n${output}`)
    return output
  }

  #own(folder: string): void {
    mkdirSync(folder, { recursive: true })
    for (let each = folder; each.startsWith(this.#folder); each = dirname(each))
      chownSync(each, this.#account.uid, this.#account.gid)
  }

  #start(name: string, command: string, args: string[], env: Record<string, string> = {}): void {
    const { PATH } = process.env
    const log = join(this.#folder, `${name.replace(' ', '-')}.log`)
    const child = spawn('sh', ['-c', `exec "$0" "$@" >> '${log}' 2>&1`, command, ...args], {
      ...this.#account,
      cwd: this.#folder,
      env: { PATH, LANG: 'C.UTF-8', HOME: this.#folder, ...env },
      stdio: 'ignore',
    })
    this.#processes.set(name, child)
    const ended = once(child, 'exit')
    this.#t.teardown(async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
      const machine = this.machines.find((each) => name === `patroni ${each.name}`)
      if (machine !== undefined) this.killPostgres(machine)
    })
  }
}
