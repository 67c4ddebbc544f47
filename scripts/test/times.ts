// The time and CPU of each test file: printed by `npm test -- --times`, and kept for the order of the next
// run.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FileResult } from './pool.ts'

/** Milliseconds by the clock of each file's last run. */
type Times = Record<string, number>

/** The longest files, which run first when there are no times yet, such as in a fresh clone. */
const longest = [
  'contract/coverage',
  'app/abuse',
  'storage/resumable-uploads',
  'scripts/dev',
  'faults/ingestion',
  'storage/download',
  'payments/model',
  'contract/order',
  'faults/streams',
  'payments/checkout-page',
  'ai/hostile-documents',
  'docs/reference',
  'payments/stripe-faults',
  'contract/self-test',
  'contract/constraints',
  'app/deprecation',
  'faults/postgres',
  'storage/avatar',
  'storage/upload',
  'faults/deliveries',
  'scripts/test-runner',
  'events/stream',
  'scripts/admin',
  'contract/unavailable',
  'contract/samples',
  'scripts/contract',
  'ai/providers',
  'faults/kill',
  'faults/transfers',
  'faults/chats',
  'webhooks/endpoints',
].map((name) => `test/${name}.test.ts`)

/** The files with the longest first, so that no core is idle at the end. */
export function longestFirst(root: string, files: string[]): string[] {
  const times = readTimes(root)
  // New files come first, because they may be long.
  const unknown = Object.keys(times).length === 0 ? 0 : Number.MAX_SAFE_INTEGER
  const timeOf = (file: string): number => {
    const place = longest.indexOf(file)
    return times[file] ?? (place === -1 ? unknown : Number.MAX_SAFE_INTEGER - place)
  }
  return files.toSorted((a, b) => timeOf(b) - timeOf(a) || a.localeCompare(b))
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
