// Every command explains itself with --help and prints the version with --version, and does nothing else.
// Of the commands that print the comment at their top, the short form runs one of each kind.
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { isLongForm } from '../support/long-form.ts'
import { inheritedEnvironment } from '../support/server/process.ts'

const root = join(import.meta.dirname, '../..')

/** The version of the package of the command, or else that of the project. */
function versionOf(command: string): string {
  const files = [join(root, dirname(command), 'package.json'), join(root, 'package.json')]
  const versions = files
    .filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, 'utf8')).version)
  return versions.find((version) => version !== undefined)
}

const commands = [
  ...globSync('{packages,scripts}/*/main.ts', { cwd: root }),
  'scripts/setup/main.mjs',
  'app/main.ts',
  'app/worker.ts',
].sort()

/** One of each kind: the commands print their version by the same function as their help. */
const printsVersion = isLongForm
  ? commands
  : ['packages/lint/main.ts', 'scripts/migrate/main.ts', 'scripts/setup/main.mjs', 'app/main.ts']

/** Whether the first statement after the imports prints the comment at the top. */
function printsComment(source: string): boolean {
  const [, first] = /^(?:\/\/.*\n)+(?:\s*import\b[^']*'[^']+'\n)+\s*(.*)$/m.exec(source) ?? []
  return first === 'answerHelp(import.meta)' && /import \{.*\banswerHelp\b.*command-help\.ts'/.test(source)
}

async function run(...args: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: inheritedEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [code, out, errors] = await Promise.all([exit, text(child.stdout), text(child.stderr)])
  return { code, out: out.trim(), errors }
}

t.test(`--help and --version of ${commands.length} commands`, { timeout: 300_000 }, async (t) => {
  t.ok(commands.length > 20)
  for (const command of commands) {
    const source = readFileSync(join(root, command), 'utf8')
    if (!isLongForm && !printsVersion.includes(command) && printsComment(source)) {
      t.match(/^(\/\/.*\n)+/.exec(source)?.[0], /npm |node |platform /, command)
      continue
    }
    const help = await run(command, '--help')
    t.equal(help.code, 0, `${command}: ${help.errors}`)
    t.match(help.out, /npm |node |platform /, command)
  }
  for (const command of printsVersion) {
    const { code, out, errors } = await run(command, '--version')
    t.strictSame([code, out], [0, versionOf(command)], `${command}: ${errors}`)
  }
})

t.test('a command ends without a message when the reader of its output has gone', async (t) => {
  const child = spawn(process.execPath, [join(root, 'scripts/settings/main.ts'), '--help'], {
    env: inheritedEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const errors = await text(child.stderr)
  t.equal(errors, '')
})
