// Builds the image of the Dockerfile without a container engine: its steps run in root file systems made by
// debootstrap, each stage in one of its own. Needs root, debootstrap and a mirror of Debian.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Test } from 'tap'

const project = join(import.meta.dirname, '../../..')

export interface Image {
  root: string
  environment: Record<string, string>
  user: string
  workdir: string
  entrypoint: string[]
  command: string[]
  healthcheck: string[]
  /** Starts a command of the image with a read-only root and without capabilities, as its user. */
  run(command: string[], env: Record<string, string>): ChildProcess
}

export interface Instruction {
  name: string
  text: string
}

/** The instructions of a Dockerfile, with continued lines joined. */
export function readDockerfile(text: string): Instruction[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
  return lines
    .map((line) => /^([A-Z]+) (.*)$/.exec(line.trim()))
    .filter((match) => match !== null)
    .map(([, name, rest]) => ({ name, text: rest }))
}

/** Why no image can be built here, or false. */
export function skipWithoutDebootstrap(): string | false {
  if (process.getuid?.() !== 0) return 'only root can build a root file system'
  return existsSync('/usr/sbin/debootstrap') ? false : 'debootstrap is not installed'
}

export function buildImage(t: Pick<Test, 'teardown'>): Image {
  const folder = mkdtempSync(join(tmpdir(), 'platform-image-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const base = makeBase(join(folder, 'base'))
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const { name, text } of readDockerfile(readFileSync(join(project, 'Dockerfile'), 'utf8'))) {
    if (name === 'FROM') {
      const root = join(folder, `stage-${stages.size}`)
      execFileSync('cp', ['-a', base, root])
      stage = new Stage(root, stages)
      stages.set(/ AS (\w+)/.exec(text)?.[1] ?? '', stage)
    } else stage![step(name)](text)
  }
  return stage!.image()
}

/** Debian of the version of `node:24-slim`, with Node and npm. */
function makeBase(root: string): string {
  execFileSync('debootstrap', ['--variant=minbase', 'bookworm', root], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const { NODE_EXTRA_CA_CERTS: authorities } = process.env
  for (const file of ['/etc/resolv.conf', '/etc/hosts', ...(authorities === undefined ? [] : [authorities])])
    cpSync(file, join(root, file), { dereference: true })
  cpSync(process.execPath, join(root, 'usr/local/bin/node'), { dereference: true })
  const script = execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim()
  cpSync(join(dirname(script), '..'), join(root, 'usr/local/lib/node_modules/npm'), {
    recursive: true,
    dereference: true,
  })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  return root
}

const steps = {
  WORKDIR: 'workdir',
  COPY: 'copy',
  RUN: 'run',
  ENV: 'env',
  USER: 'user',
  HEALTHCHECK: 'healthcheck',
  ENTRYPOINT: 'entrypoint',
  CMD: 'command',
  LABEL: 'note',
  EXPOSE: 'note',
  STOPSIGNAL: 'note',
} as const

function step(name: string): (typeof steps)[keyof typeof steps] {
  if (name in steps) return steps[name as keyof typeof steps]
  throw new Error(`the Dockerfile has the unknown instruction ${name}`)
}

class Stage {
  readonly #root: string
  readonly #stages: Map<string, Stage>
  readonly #environment: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' }
  #workdir = '/'
  #user = '0:0'
  #entrypoint: string[] = []
  #command: string[] = []
  #healthcheck: string[] = []

  constructor(root: string, stages: Map<string, Stage>) {
    this.#root = root
    this.#stages = stages
  }

  workdir(path: string): void {
    this.#workdir = path
    mkdirSync(join(this.#root, path), { recursive: true })
  }

  copy(text: string): void {
    const [, from, rest] = /^(?:--from=(\w+) )?(.*)$/.exec(text)!
    const words = rest.split(' ')
    const target = words.pop()!
    const to = join(this.#root, resolve(this.#workdir, target))
    mkdirSync(target.endsWith('/') ? to : dirname(to), { recursive: true })
    for (const source of words)
      if (from !== undefined) copy(join(this.#stages.get(from)!.#root, source), to)
      else if (source === '.') for (const name of contextNames()) copy(join(project, name), join(to, name))
      else copy(join(project, source), target.endsWith('/') ? join(to, basename(source)) : to)
  }

  run(text: string): void {
    const command = text.replace(/^(--\S+ +)+/, '')
    // npm of the image downloads as npm of this machine does.
    const settings = Object.entries(process.env).filter(([name]) =>
      /^(https?_proxy|NODE_EXTRA_CA_CERTS)$/i.test(name),
    )
    const { status, stderr } = spawnSync(
      'chroot',
      [this.#root, '/bin/sh', '-c', `cd ${this.#workdir} && ${command}`],
      {
        env: { ...this.#environment, ...Object.fromEntries(settings), npm_config_registry: registry() },
        encoding: 'utf8',
      },
    )
    if (status !== 0) throw new Error(`RUN ${command} failed:\n${stderr}`)
  }

  env(text: string): void {
    for (const [, name, value] of text.matchAll(/(\w+)=(\S+)/g)) this.#environment[name] = value
  }

  user(text: string): void {
    this.#user = text
  }

  healthcheck(text: string): void {
    this.#healthcheck = JSON.parse(/CMD (.*)$/.exec(text)![1])
  }

  entrypoint(text: string): void {
    this.#entrypoint = JSON.parse(text)
  }

  command(text: string): void {
    this.#command = JSON.parse(text)
  }

  note(): void {}

  image(): Image {
    const [root, workdir, user] = [this.#root, this.#workdir, this.#user]
    const [uid, gid] = user.split(':')
    return {
      root,
      environment: this.#environment,
      user,
      workdir,
      entrypoint: this.#entrypoint,
      command: this.#command,
      healthcheck: this.#healthcheck,
      run: (command, env) => {
        // A mount namespace of its own: the root is read-only, except for the data and /tmp.
        const script =
          `mount --bind ${root} ${root} && mount --bind ${root}${workdir}/data ${root}${workdir}/data && ` +
          `mount -o remount,ro,bind ${root} && mount -t tmpfs tmpfs ${root}/tmp && ` +
          `exec chroot ${root} setpriv --reuid=${uid} --regid=${gid} --clear-groups --no-new-privs ` +
          `--bounding-set=-all --inh-caps=-all /bin/sh -c 'cd ${workdir} && exec "$@"' sh "$@"`
        return spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', ...command], {
          env: { ...this.#environment, ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        })
      },
    }
  }
}

function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

/** The names that .dockerignore does not exclude: it excludes all and names exceptions. */
export function contextNames(): string[] {
  const lines = readFileSync(join(project, '.dockerignore'), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
}

function registry(): string {
  return execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
}
