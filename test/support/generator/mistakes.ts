// Starts the programs with the settings of an operator who made a mistake, and compares what is kept before
// and after.
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { contentsOf } from '../server/backups.ts'
import { testSecretKey } from '../database/database.ts'
import { bootstrapKey, inheritedEnvironment } from '../server/process.ts'

const root = join(import.meta.dirname, '../../..')

export type Settings = Record<string, string>

/** Starts a program that must refuse. @returns the messages of its log, a line each. */
export async function refusal(script: 'app/main.ts' | 'app/worker.ts', env: Settings): Promise<string> {
  return await new Promise((resolve, reject) => {
    const settings = {
      PORT: '0',
      BOOTSTRAP_API_KEY: bootstrapKey,
      SECRET_KEY: testSecretKey,
      LOG_LEVEL: 'fatal',
    }
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

/** Server and worker refuse with this one sentence, and change neither rows nor files. */
export async function requireRefusal(
  t: Test,
  { env, kept = env, sentence }: { env: Settings; kept?: Settings; sentence: RegExp },
): Promise<void> {
  const before = await stateOf(kept)
  for (const script of ['app/main.ts', 'app/worker.ts'] as const) {
    const said = await refusal(script, env)
    t.match(said, sentence, script)
    t.match(said, /^[^\n]+\.\n$/, 'one sentence')
  }
  t.same(await stateOf(kept), before)
}
