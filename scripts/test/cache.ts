// What earlier runs found of each test file: the time that it took, and with which inputs it passed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Inputs } from './inputs.ts'
import type { FileResult } from './pool.ts'

interface Known {
  /** Milliseconds by the clock of the last run. */
  wall: number
  /** Absent after a run in which a test failed or was skipped. */
  passed?: { inputs: string; handlers: string[] }
}

export class Cache {
  #file: string
  #inputs: Inputs
  #known: Record<string, Known>

  constructor(root: string) {
    this.#file = join(root, 'node_modules', '.cache', 'tests.json')
    this.#inputs = new Inputs(root)
    this.#known = readJson(this.#file)
  }

  wallOf(file: string): number | undefined {
    return this.#known[file]?.wall
  }

  /** Whether the file passed when all that it depends on was as it is now. */
  isUnchanged(file: string): boolean {
    const passed = this.#known[file]?.passed
    return passed !== undefined && passed.inputs === this.#inputs.hashOf(file, passed.handlers)
  }

  save(results: FileResult[], passed: Set<string>): void {
    for (const { file, wall, handlers } of results)
      this.#known[file] = {
        wall: Math.round(wall),
        ...(passed.has(file) && { passed: { inputs: this.#inputs.hashOf(file, handlers), handlers } }),
      }
    mkdirSync(dirname(this.#file), { recursive: true })
    writeFileSync(this.#file, JSON.stringify(this.#known, null, 1) + '\n')
  }
}

function readJson(file: string): Record<string, Known> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, Known>
  } catch {
    return {}
  }
}
