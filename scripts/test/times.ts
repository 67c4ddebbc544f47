// The time and CPU of each test file: printed by `npm test -- --times`, and kept for the order of the next
// run.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FileResult } from './pool.ts'

/** Milliseconds by the clock of each file's last run. */
type Times = Record<string, number>

/** The folders with the longest files: what runs first when there are no times yet. */
const slowFolders = /^test\/(faults|scripts|infra|storage|docs)\//

/** The files with the longest first, so that no core is idle at the end. */
export function longestFirst(root: string, files: string[]): string[] {
  const times = readTimes(root)
  const timeOf = (file: string): number =>
    times[file] ?? (slowFolders.test(file) ? Infinity : Number.MAX_VALUE)
  return files.toSorted((a, b) => (timeOf(a) === timeOf(b) ? a.localeCompare(b) : timeOf(b) - timeOf(a)))
}

export function saveTimes(root: string, results: FileResult[]): void {
  const times = {
    ...readTimes(root),
    ...Object.fromEntries(results.map(({ file, wall }) => [file, Math.round(wall)])),
  }
  mkdirSync(dirname(timesFile(root)), { recursive: true })
  writeFileSync(timesFile(root), JSON.stringify(times, null, 2) + '\n')
}

export function printTimes(results: FileResult[]): void {
  const cell = (milliseconds: number): string => (milliseconds / 1000).toFixed(1).padStart(8)
  console.log('    time     CPU  in seconds')
  for (const { file, wall, cpu } of results.toSorted((a, b) => b.wall - a.wall))
    console.log(`${cell(wall)}${cell(cpu)}  ${file}`)
  const sum = (of: 'wall' | 'cpu'): number => results.reduce((total, result) => total + result[of], 0)
  console.log(`${cell(sum('wall'))}${cell(sum('cpu'))}  all files`)
}

function timesFile(root: string): string {
  return join(root, 'node_modules', '.cache', 'test-times.json')
}

function readTimes(root: string): Times {
  try {
    return JSON.parse(readFileSync(timesFile(root), 'utf8')) as Times
  } catch {
    return {}
  }
}
