// The time of a request by package of the server, from CPU profiles, and by statement of PostgreSQL, from its
// log.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { statementName } from '../../infra/database/statements.ts'
import { openLoad, type LoadOptions } from './load.ts'
import { changeSetting, openAsAdministrator } from './population.ts'
import type { Server } from './serve.ts'
import type { Program } from './stage.ts'
import { count } from './table.ts'

/** The time of a unit of work, by package or statement. */
export type Spent = Record<string, number>

const shown = 6

interface Requests extends Omit<LoadOptions, 'port'> {
  requests: number
}

/**
 * The profile of a program, by package: that of the round which took the least. A profile makes the program
 * slower, and has the time in which other programs ran: see `scaled`.
 */
export async function profileOf(
  program: Program,
  { work, rounds = 3 }: { work: () => Promise<unknown>; rounds?: number },
): Promise<Spent> {
  const all: Spent[] = []
  for (let round = 0; round < rounds; round++) {
    const { 'node:inspector': _profiler, ...times } = await program.profile(work)
    all.push(times)
  }
  return all.sort((a, b) => sum(a) - sum(b))[0]
}

/** The parts in microseconds, so that they are the measured seconds of CPU together. */
export function scaled(spent: Spent, seconds: number): Spent {
  const factor = (seconds * 1e6) / sum(spent)
  return Object.fromEntries(Object.entries(spent).map(([name, time]) => [name, time * factor]))
}

/** The time of the server for requests, by package. */
export async function spentByPackage(
  { program, port }: Pick<Server, 'program' | 'port'>,
  requests: Requests,
): Promise<Spent> {
  return await withLoad(port, requests, async (work) => {
    await work()
    return await profileOf(program, { work })
  })
}

/** The time of PostgreSQL for requests to the server, by statement. */
export async function spentByStatement(
  postgres: Postgres,
  { port, ...requests }: { port: number } & Requests,
): Promise<Spent> {
  return await withLoad(port, requests, (work) => statementsOf(postgres, work))
}

async function withLoad<T>(
  port: number,
  { requests, ...options }: Requests,
  measure: (work: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const load = await openLoad({ port, ...options })
  try {
    return await measure(() => load.fire({ seconds: 600, requests }))
  } finally {
    load.close()
  }
}

interface Postgres {
  /** Of any of its databases. */
  url: string
  dataDir: string
}

/**
 * The time that PostgreSQL says each statement took, with its parsing and planning: the median of each, as
 * often as it ran.
 */
export async function statementsOf({ url, dataDir }: Postgres, work: () => Promise<unknown>): Promise<Spent> {
  const client = await openAsAdministrator(url, dataDir)
  const file = join(dataDir, 'postgres.log')
  try {
    await changeSetting(client, 'log_min_duration_statement', '0')
    const from = statSync(file).size
    await work()
    return medians(readFileSync(file).subarray(from).toString())
  } finally {
    await changeSetting(client, 'log_min_duration_statement', '-1')
    await client.end()
  }
}

function medians(log: string): Spent {
  const labels = labelsOfStatements()
  const times: Record<string, number[]> = {}
  for (const [, milliseconds, step, name, text] of log.matchAll(
    /duration: ([\d.]+) ms +(\w+) ?([^:]*): ([^]{0,60})/g,
  )) {
    const label = labels.get(name) ?? (/^\w{1,20}$/.test(name) ? name : text.replaceAll(/\s+/g, ' ').trim())
    ;(times[`${step} ${label}`] ??= []).push(Number(milliseconds))
  }
  const spent: Spent = {}
  for (const [key, values] of Object.entries(times)) {
    const label = key.slice(key.indexOf(' ') + 1)
    const median = values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
    spent[label] = (spent[label] ?? 0) + median * values.length
  }
  return spent
}

/** The files in prisma/sql, by the names under which their statements are prepared. */
function labelsOfStatements(): Map<string, string> {
  const folder = join(import.meta.dirname, '../../generated/sql')
  const labels = new Map<string, string>()
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts')))
    for (const [, label, text] of readFileSync(join(folder, file), 'utf8').matchAll(
      /\(\n {2}'([a-z-]+\/[a-z-]+)',\n {2}`([^`]*)`/g,
    ))
      labels.set(statementName(text), label)
  return labels
}

/** The largest of the parts in microseconds, in words. With `compared`, the parts of the difference. */
export function largest(spent: Spent, compared?: Spent): string {
  const names = [...new Set([...Object.keys(spent), ...Object.keys(compared ?? {})])]
  const parts = names
    .map((name): [string, number] => [name, (spent[name] ?? 0) - (compared?.[name] ?? 0)])
    .sort(([, a], [, b]) => b - a)
  const named = parts.slice(0, shown).filter(([, micros]) => micros >= 1)
  const others = sum(Object.fromEntries(parts.slice(named.length)))
  const sign = compared === undefined ? '' : '+'
  return [
    ...named.map(([name, micros]) => `${name} ${sign}${count(micros)} µs`),
    `all others ${others > 0 ? sign : ''}${count(others)} µs`,
  ].join(', ')
}

const sum = (spent: Spent): number => Object.values(spent).reduce((total, micros) => total + micros, 0)
