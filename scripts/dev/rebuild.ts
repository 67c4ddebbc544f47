// Decides what a save requires: a run of the generator, a new server, or both; and prints the result.
// One rebuild at a time; files saved in the meantime go into the next one.
import { setTimeout as sleep } from 'node:timers/promises'
import { firstKeyLines } from '../../app/first-key.ts'
import type { GeneratorProcess } from './generator-process.ts'
import { explainExit, explainProblem, explainStartup } from './report.ts'
import { ServerError, type Servers, type Serving } from './zero-downtime.ts'

const notServing = 'No server is running until the next save.'
/** A server that takes longer to start may never do so: a module may wait for something at its import. */
const slowStartMs = 5_000

export interface Rebuilder {
  /**
   * Generates and starts the first server.
   * @throws ServerError if a setting, the port or the database prevents the start.
   */
  start(): Promise<void>
  /** @param files the saved files, relative to the project's folder. */
  save(files: string[]): void
  /** Whether files are still being written or served. */
  isBusy(): boolean
}

export function createRebuilder({
  folder,
  generator,
  servers,
  say,
  newDatabase,
  onIdle = () => {},
}: {
  folder: string
  generator: GeneratorProcess
  servers: Servers
  say: (line: string) => void
  /** The instruction for a new database, such as a command. */
  newDatabase: string
  /** All saved files are served, and what follows from them is written. */
  onIdle?: () => void
}): Rebuilder {
  const saved = new Set<string>()
  /** True from the beginning: files saved during the first generation wait for it. */
  let busy = true
  /** The last start failed, so the running server is older than the files. */
  let outdated = false
  let start: 'usual' | 'slow' | 'given up' = 'usual'
  /** The notes of the last generation. */
  let noted: string[] = []

  async function rebuild(files: string[]): Promise<void> {
    const started = performance.now()
    const any = (pattern: RegExp): boolean => files.some((file) => pattern.test(file))
    const done: string[] = []
    let generated = false
    /** Whether a message has named the migration to make. */
    let namesMigration = false
    let restart =
      outdated || !servers.serving() || any(/^(app|handlers|services|infra)\/|^prisma\/migrations\//)
    // The generator compiles these formats into the validators.
    if (any(/^infra\/validation\/formats\.ts$/)) generator.restart()
    if (any(/^spec\/|^prisma\/|^infra\/validation\/formats\.ts$/)) {
      const outcome = await generator.generate('served')
      generated = 'wrote' in outcome
      if ('problem' in outcome) {
        namesMigration = outcome.problem.includes('no migration makes')
        say(`✗ ${explainProblem(outcome.problem)}`)
        if (!restart) return
      } else {
        const { wrote } = outcome
        done.push(wrote.length === 0 ? 'generated/ is unchanged' : `wrote ${wrote.join(', ')}`)
        restart ||= wrote.length > 0
      }
    }
    if (restart) {
      outdated = (await serve()) === null
      if (outdated) return generated ? await generateTypes(files) : undefined
      done.push(`serving after ${((performance.now() - started) / 1000).toFixed(1)} s`)
    }
    if (done.length > 0) say(`✓ ${summaryOf(files)} → ${done.join('; ')}`)
    if (any(/^prisma\/schema\.prisma$/) && !namesMigration)
      say(
        '· prisma/schema.prisma changed: create a migration with `npm run migrate -- --create NAME`; ' +
          'the next start applies it',
      )
    else if (restart && any(/^prisma\/migrations\//))
      say('· the migration was applied; later changes need a new one')
    // The client and the console are written with the types.
    if (generated || any(/^packages\//)) await generateTypes(files)
  }

  /** Repeats a note only when its file is saved again. */
  function note(notes: string[], files: string[]): void {
    for (const each of notes)
      if (!noted.includes(each) || files.includes(each.split(':')[0])) say(`· ${each}`)
    noted = notes
  }

  /** Waits a moment, because the first requests to the new server are more urgent. */
  async function generateTypes(files: string[] = []): Promise<void> {
    await sleep(300)
    const outcome = await generator.generate('types')
    if ('problem' in outcome) return say(`✗ ${outcome.problem}`)
    note(outcome.notes, files)
    if (outcome.wrote.length > 0) say(`· wrote ${outcome.wrote.join(', ')}`)
  }

  async function serve(): Promise<Serving | null> {
    const timer = setTimeout(() => {
      start = 'slow'
      say('· the server is still starting; if a module waits at its import, the next save starts another')
    }, slowStartMs)
    try {
      return await servers.replace()
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      const reason = error.isStartupError
        ? explainStartup(error.message, newDatabase)
        : start === 'given up'
          ? 'the start was given up'
          : explainExit(folder, error.message)
      say(`✗ ${reason}\n  ${servers.serving() ? 'The previous server keeps running.' : notServing}`)
      return null
    } finally {
      clearTimeout(timer)
      start = 'usual'
    }
  }

  async function rebuildSaved(): Promise<void> {
    while (saved.size > 0) {
      const files = [...saved].sort()
      saved.clear()
      await rebuild(files)
    }
    busy = false
    onIdle()
  }

  return {
    async start() {
      const outcome = await generator.generate('served')
      if ('problem' in outcome)
        say(`✗ ${explainProblem(outcome.problem)}\n  Serving the files generated before.`)
      else if (outcome.wrote.length > 0) say(`· wrote ${outcome.wrote.join(', ')}`)
      const serving = await servers.replace().catch((error: unknown) => {
        if (!(error instanceof ServerError)) throw error
        if (error.isStartupError) throw new ServerError(explainStartup(error.message, newDatabase), true)
        outdated = true
        say(`✗ ${explainExit(folder, error.message)}\n  ${notServing}`)
        return null
      })
      if (serving !== null) {
        const { url, firstKey } = serving
        say(`✓ serving at ${url} (reference: ${url}/docs, console: ${url}/console)`)
        if (firstKey !== null) say(firstKeyLines(firstKey, url).join('\n'))
      }
      if ('wrote' in outcome) await generateTypes()
      void rebuildSaved()
    },
    save(files) {
      for (const file of files) saved.add(file)
      if (start === 'slow') {
        start = 'given up'
        servers.giveUp()
      }
      if (busy) return
      busy = true
      void rebuildSaved()
    },
    isBusy: () => busy,
  }
}

/** Up to three file names, or two and the number of the others. */
function summaryOf(files: string[]): string {
  return files.length <= 3 ? files.join(', ') : `${files.slice(0, 2).join(', ')} and ${files.length - 2} more`
}
