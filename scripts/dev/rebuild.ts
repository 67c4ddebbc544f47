// Owns what follows from a save: whether the generator has to run, whether another server has to start, and the line
// about it. One round at a time; what is saved meanwhile is the next one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Generation } from './generation.ts'
import { whyItEnded } from './report.ts'
import { ServerError, type Servers, type Serving } from './zero-downtime.ts'

export interface Rounds {
  /** Generates and starts the first server. @throws ServerError when it was refused, which no save would change. */
  begin(): Promise<void>
  /** The files of a save, named from the project's folder. */
  save(files: string[]): void
}

export function createRounds({
  folder,
  generation,
  servers,
  say,
}: {
  folder: string
  generation: Generation
  servers: Servers
  say: (line: string) => void
}): Rounds {
  const saved = new Set<string>()
  /** From the start on: what is saved during the first generation is the first round. */
  let busy = true
  /** What is in the files is not what serves: the server did not come up with it. */
  let behind = false

  async function round(files: string[]): Promise<void> {
    const started = performance.now()
    const any = (pattern: RegExp): boolean => files.some((file) => pattern.test(file))
    const done: string[] = []
    let generated = false
    let restart =
      behind || !servers.serving() || any(/^(app|handlers|services|infra)\/|^prisma\/migrations\//)
    // The validators that it writes are made with these formats.
    if (any(/^infra\/validation\/formats\.ts$/)) generation.renew()
    if (any(/^spec\/|^prisma\/schema\.prisma$|^infra\/validation\/formats\.ts$/)) {
      const outcome = await generation.generate('served')
      generated = 'wrote' in outcome
      if ('problem' in outcome) {
        say(`✗ ${outcome.problem}`)
        if (!restart) return
      } else {
        const { wrote } = outcome
        done.push(wrote.length === 0 ? 'nothing changed in generated/' : `wrote ${wrote.join(', ')}`)
        restart ||= wrote.length > 0
      }
    }
    if (restart) {
      behind = (await serve()) === null
      if (behind) return generated ? await types() : undefined
      done.push(`serving after ${((performance.now() - started) / 1000).toFixed(1)} s`)
    }
    if (done.length > 0) say(`✓ ${named(files)} → ${done.join('; ')}`)
    if (any(/^prisma\/schema\.prisma$/))
      say(
        '· the database follows with a migration: `npm run migrate -- --create NAME` writes it, and the next start applies it',
      )
    else if (restart && any(/^prisma\/migrations\//))
      say('· the migration is applied; one that is changed after that is refused, so write another')
    if (generated) await types()
  }

  /** For the compiler and for clients; the server answers already, and its first requests go first. */
  async function types(): Promise<void> {
    await sleep(300)
    const outcome = await generation.generate('types')
    if ('problem' in outcome) say(`✗ ${outcome.problem}`)
    else if (outcome.wrote.length > 0) say(`· wrote ${outcome.wrote.join(', ')}`)
  }

  async function serve(): Promise<Serving | null> {
    try {
      return await servers.replace()
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      say(
        `✗ ${error.refused ? error.message : whyItEnded(folder, error.message)}\n  ${servers.serving() ? 'The server before it goes on answering.' : 'Nothing answers until the next save.'}`,
      )
      return null
    }
  }

  async function next(): Promise<void> {
    while (saved.size > 0) {
      const files = [...saved].sort()
      saved.clear()
      await round(files)
    }
    busy = false
  }

  return {
    async begin() {
      const outcome = await generation.generate('served')
      if ('problem' in outcome) say(`✗ ${outcome.problem}\n  Serving what was generated before.`)
      else if (outcome.wrote.length > 0) say(`· wrote ${outcome.wrote.join(', ')}`)
      const serving = await servers.replace().catch((error: unknown) => {
        if (!(error instanceof ServerError) || error.refused) throw error
        behind = true
        say(`✗ ${whyItEnded(folder, error.message)}\n  Nothing answers until the next save.`)
        return null
      })
      if (serving !== null) {
        const { url, firstKey } = serving
        say(`✓ serving at ${url} (reference: ${url}/docs)`)
        if (firstKey !== null) say(`  Your API key, shown this once:  ${firstKey}`)
      }
      if ('wrote' in outcome) await types()
      void next()
    },
    save(files) {
      for (const file of files) saved.add(file)
      if (busy) return
      busy = true
      void next()
    },
  }
}

/** `spec/projects.yaml`, or how many more there are. */
function named(files: string[]): string {
  return files.length <= 3 ? files.join(', ') : `${files.slice(0, 2).join(', ')} and ${files.length - 2} more`
}
