// Why a list takes longer with more rows, read from the plans that PostgreSQL has used for it (auto_explain).
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { changeSetting, openAsAdministrator } from './population.ts'
import { count } from './table.ts'

/** A node of a plan in JSON; times in milliseconds for each of its loops. */
interface Node {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Actual Total Time': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Node[]
}

interface Logged {
  milliseconds: number
  sql: string
  plan: Node
}

export interface Plans {
  /** Why the request of a list with a total takes its time: what its statement counts, sorts and reads. */
  reasonOf(request: () => Promise<unknown>): Promise<string>
  close(): Promise<void>
}

/** Lets new connections log their plans. Call it before the servers connect. */
export async function preparePlans(url: string, dataDir: string): Promise<void> {
  const client = await openAsAdministrator(url, dataDir)
  await client.query("ALTER SYSTEM SET session_preload_libraries = 'auto_explain'")
  await client.query('SELECT pg_reload_conf()')
  await client.end()
}

/** Logs the plan of every statement until `close`. */
export async function openPlans(url: string, dataDir: string): Promise<Plans> {
  const client = await openAsAdministrator(url, dataDir)
  client.on('error', (error) => console.error(`The connection that reads plans: ${error.message}`))
  await client.query("LOAD 'auto_explain'")
  const settings = { log_format: 'json', log_analyze: 'on', log_timing: 'on', log_min_duration: '0' }
  for (const [name, value] of Object.entries(settings))
    await changeSetting(client, `auto_explain.${name}`, value)
  const file = join(dataDir, 'postgres.log')
  return {
    async reasonOf(request) {
      // More than once, because a connection may not have read the new settings yet.
      for (let tries = 0; tries < 100; tries++) {
        const from = statSync(file).size
        await request()
        const logged = plansIn(readFileSync(file).subarray(from).toString())
        const list = logged.find(({ sql }) => sql.startsWith('SELECT t.total::int'))
        if (list !== undefined) return ofList(list)
        await sleep(10)
      }
      throw new Error('PostgreSQL has not logged the plan of a list')
    },
    async close() {
      await changeSetting(client, 'auto_explain.log_min_duration', '-1')
      await client.end()
    },
  }
}

function plansIn(log: string): Logged[] {
  const found: Logged[] = []
  // Complete ones only: PostgreSQL may be writing the last.
  for (const [, milliseconds, json] of log.matchAll(
    /duration: ([\d.]+) ms +plan:\n(\t\{\n(?:\t .*\n)*\t\}\n)/g,
  )) {
    const { 'Query Text': sql, Plan: plan } = JSON.parse(json.replaceAll('\n\t', '\n'))
    found.push({ milliseconds: Number(milliseconds), sql, plan })
  }
  return found
}

/** The parts of the statement, its total and its page, that take a quarter of its time. */
function ofList({ milliseconds, plan }: Logged): string {
  const [total, page] = plan.Plans ?? []
  const takesTime = (node: Node): boolean =>
    node['Actual Total Time'] * node['Actual Loops'] > milliseconds / 4
  return [
    ...(takesTime(total) ? [`the exact total reads ${count(rowsOf(total))} rows`] : []),
    ...(takesTime(page) ? [ofPage(page)] : []),
  ].join('; ')
}

function ofPage(page: Node): string {
  const sort = nodesOf(page).find((node) => node['Node Type'].includes('Sort'))
  if (sort === undefined) return `the page reads ${count(rowsOf(page))} rows`
  return `no index has this order: ${count(rowsOf(sort))} rows are sorted`
}

/** The most rows that one node of a plan reads. */
function rowsOf(node: Node): number {
  const read = nodesOf(node).map((each) => {
    const removed = (each['Rows Removed by Filter'] ?? 0) + (each['Rows Removed by Index Recheck'] ?? 0)
    return each['Actual Loops'] * (each['Actual Rows'] + removed)
  })
  return Math.round(Math.max(...read))
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}
