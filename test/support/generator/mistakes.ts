// Starts the programs with the settings of an operator who made a mistake, and compares what is kept before
// and after. The short form of the tests starts them in this process, as a process costs a second of CPU.
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { explainStartupError } from '../../../app/startup-errors.ts'
import { startServer } from '../../../app/server.ts'
import { startWorker } from '../../../app/work.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { contentsOf } from '../server/backups.ts'
import { testSecretKey } from '../database/database.ts'
import { isLongForm } from '../long-form.ts'
import { bootstrapKey, inheritedEnvironment } from '../server/process.ts'

const root = join(import.meta.dirname, '../../..')

export type Settings = Record<string, string>

type Script = 'app/main.ts' | 'app/worker.ts'

const settings = {
  PORT: '0',
  BOOTSTRAP_API_KEY: bootstrapKey,
  SECRET_KEY: testSecretKey,
  LOG_LEVEL: 'fatal',
}

/** Starts a program that must refuse. @returns the messages of its log, a line each. */
async function refusalHere(script: Script, env: Settings): Promise<string> {
  let stop: () => Promise<void>
  try {
    const config = readConfig({ ...settings, ...env })
    stop =
      script === 'app/main.ts'
        ? (await startServer(config, { isTerminal: false })).stop
        : await startWorker(config, { onProgress: () => {} })
  } catch (error) {
    return `${explainStartupError(error) ?? (error as Error).stack}\n`
  }
  await stop()
  throw new Error(`${script} started`)
}

/** The same in a process of its own. */
async function refusal(script: Script, env: Settings): Promise<string> {
  return await new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [script],
      { cwd: root, env: { ...inheritedEnvironment(), ...settings, ...env } },
      (error, out) => (error === null ? reject(new Error(`It started:\n${out}`)) : resolve(messagesOf(out))),
    )
    // A program that starts in spite of the mistake is ended.
    child.stdout!.on('data', (text: string) => {
      if (/serving at|working;/.test(text)) child.kill('SIGTERM')
    })
  })
}

/** Progress has the level `info`, which is left out. */
function messagesOf(log: string): string {
  const lines = log.split('\n').filter((line) => line !== '')
  const entries = lines.map((line) => JSON.parse(line) as { level: number; msg: string })
  return entries
    .filter(({ level }) => level > 30)
    .map(({ msg }) => `${msg}\n`)
    .join('')
}

/** Each row and each file. */
export async function stateOf({ DATABASE_URL: url, STORAGE_DIR: folder }: Settings): Promise<object> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => [name, hash('sha256', readFileSync(join(folder, name)))])
  return { rows: await contentsOf(url), files: Object.fromEntries(files) }
}

/**
 * Server and worker refuse with this one sentence, and change neither rows nor files.
 * @param asProcesses starts them as processes in the short form, too.
 */
export async function requireRefusal(
  t: Test,
  {
    env,
    kept = env,
    sentence,
    asProcesses = isLongForm,
  }: { env: Settings; kept?: Settings; sentence: RegExp; asProcesses?: boolean },
): Promise<void> {
  const before = await stateOf(kept)
  for (const script of ['app/main.ts', 'app/worker.ts'] as const) {
    const said = await (asProcesses ? refusal : refusalHere)(script, env)
    t.match(said, sentence, script)
    t.match(said, /^[^\n]+\.\n$/, 'one sentence')
  }
  t.same(await stateOf(kept), before)
}
