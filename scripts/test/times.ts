// The time and CPU of the test files: printed by `npm test -- --times`, and held in a whole run by
// test/times.json, which has the CPU seconds and the seconds by the clock of each file, by folder.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { FileResult } from './pool.ts'

/** CPU seconds and seconds by the clock. */
type Seconds = [cpu: number, wall: number]

interface Budget {
  /** CPU milliseconds of the yardstick while these times were measured. */
  yardstick: number
  /** CPU seconds of PostgreSQL, the other services and the runner. */
  services: number
  /** By folder and by the file's name without its ending. */
  folders: Record<string, Record<string, Seconds>>
}

interface UsedCpu {
  results: FileResult[]
  /** CPU milliseconds of all but the test files. */
  services: number
  /** CPU milliseconds of the yardstick during the run. */
  yardstick: number
}

/** A whole run fails above this multiple of the budget. */
const tolerance = 1.15
const ending = '.test.ts'

export class Times {
  #path: string
  #budget: Budget

  constructor(root: string) {
    this.#path = join(root, 'test', 'times.json')
    this.#budget = JSON.parse(readFileSync(this.#path, 'utf8')) as Budget
  }

  /** Milliseconds by the clock. */
  wallOf(file: string): number | undefined {
    const seconds = this.#secondsOf(file)
    return seconds && seconds[1] * 1000
  }

  /** @returns what a whole run took above its budget, with the files that grew; null if it is within. */
  excess({ results, services, yardstick }: UsedCpu): string | null {
    const speed = this.#budget.yardstick / yardstick
    const used = (cpu: number): number => (cpu * speed) / 1000
    const total = used(sum(results.map(({ cpu }) => cpu)) + services)
    const files = Object.values(this.#budget.folders).flatMap((folder) => Object.values(folder))
    const allowed = this.#budget.services + sum(files.map(([cpu]) => cpu))
    if (total <= tolerance * allowed) return null
    const grown = results
      .map(({ file, cpu }) => ({ file, now: used(cpu), budget: this.#secondsOf(file)?.[0] ?? 0 }))
      .filter(({ now, budget }) => now > tolerance * budget && now > budget + 0.5)
      .sort((a, b) => b.now - b.budget - (a.now - a.budget))
    return [
      `It took ${total.toFixed(0)} CPU seconds of the machine of test/times.json, which allows ` +
        `${allowed.toFixed(0)} and 15 % more. What grew:`,
      ...grown.map(({ file, now, budget }) => `${budget.toFixed(1)} -> ${now.toFixed(1)}  ${file}`),
      `${this.#budget.services.toFixed(1)} -> ${used(services).toFixed(1)}  the services and the runner`,
    ].join('\n')
  }

  /** Writes the times of this run as the budget. */
  write({ results, services, yardstick }: UsedCpu): void {
    const round = (milliseconds: number): number => Math.round(milliseconds / 100) / 10
    const folders: Budget['folders'] = {}
    for (const { file, cpu, wall } of results.toSorted((a, b) => a.file.localeCompare(b.file)))
      (folders[dirname(file)] ??= {})[basename(file, ending)] = [round(cpu), round(wall)]
    const budget: Budget = { yardstick, services: round(services), folders }
    writeFileSync(
      this.#path,
      JSON.stringify(budget, null, 2).replace(/\[\s+([\d.]+),\s+([\d.]+)\s+\]/g, '[$1, $2]') + '\n',
    )
  }

  #secondsOf(file: string): Seconds | undefined {
    return this.#budget.folders[dirname(file)]?.[basename(file, ending)]
  }
}

export function printTimes(results: FileResult[]): void {
  const cell = (milliseconds: number): string => (milliseconds / 1000).toFixed(1).padStart(8)
  console.log('    time     CPU  in seconds')
  for (const { file, wall, cpu } of results.toSorted((a, b) => b.wall - a.wall))
    console.log(`${cell(wall)}${cell(cpu)}  ${file}`)
  const folders = Map.groupBy(results, ({ file }) => dirname(file))
  for (const [folder, files] of folders)
    console.log(
      `${cell(sum(files.map(({ wall }) => wall)))}${cell(sum(files.map(({ cpu }) => cpu)))}  ${folder}/`,
    )
  console.log(
    `${cell(sum(results.map(({ wall }) => wall)))}${cell(sum(results.map(({ cpu }) => cpu)))}  all files`,
  )
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
