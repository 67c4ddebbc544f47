// `npm run bench`: runs the benchmarks on this machine.
//   npm run bench -- http growth            only these; --help lists all
//   --quick                                 a short trial run, whose numbers are not meaningful
//   --rows=N                                rows of the larger side of growth; default 100,000
//   --lists=listUsers,listMembers           growth of these lists only
//   --write                                 writes docs/benchmarks.md, from one run of its benchmarks
//   growth scale --write                    writes the sections of these, which take too long for that run
//   budgets --update                        writes test/budgets.json
import { parseArgs } from 'node:util'
import { benchBackup } from './backup.ts'
import { benchBudgets } from './budgets.ts'
import { benchChat } from './chat.ts'
import { benchConcurrency } from './concurrency.ts'
import { benchContract } from './contract.ts'
import { benchDev } from './dev.ts'
import { benchEvents } from './events.ts'
import { separate, writeDocument } from './document.ts'
import { goalTable, type Goal, type Result } from './goals.ts'
import { benchGrowth } from './growth.ts'
import { benchHttp } from './http.ts'
import { installOthers } from './install.ts'
import { benchRecall, benchRetrieval } from './retrieval/main.ts'
import { benchScale } from './scale.ts'
import { benchStorage } from './storage.ts'
import { openStage, type Stage } from './stage.ts'
import { benchStart } from './start.ts'
import { benchUsage } from './usage.ts'
import { benchUsers } from './users.ts'
import { benchProfiles } from './profiles.ts'
import { answerHelp } from '../../infra/command-help.ts'
import { createProgress } from '../command/progress.ts'

const benchmarks: Record<string, (stage: Stage, quick: boolean) => Promise<string | Result>> = {
  async http(stage, quick) {
    installOthers()
    return await benchHttp(stage, quick ? { rounds: 2, seconds: 0.3 } : { rounds: 12, seconds: 0.3 })
  },
  async users(stage, quick) {
    return await benchUsers(stage, quick ? { rounds: 2, seconds: 0.3 } : { rounds: 12, seconds: 0.3 })
  },
  async concurrency(stage, quick) {
    return await benchConcurrency(stage, quick ? { rounds: 2, seconds: 0.2 } : { rounds: 6, seconds: 0.4 })
  },
  async budgets(stage) {
    return await benchBudgets(stage, { update })
  },
  async growth(stage, quick) {
    return await benchGrowth(
      stage,
      quick
        ? { sizes: [1_000, 5_000], rounds: 2, seconds: 0.05, only }
        : { sizes: [1_000, rows], rounds: 2, seconds: 0.05, only },
    )
  },
  async scale(stage, quick) {
    return await benchScale(
      stage,
      quick
        ? { sizes: [1_000, 10_000], rounds: 2, seconds: 0.2 }
        : { sizes: [10_000, 100_000, 1_000_000, 10_000_000], rounds: 3, seconds: 0.2 },
    )
  },
  async events(stage, quick) {
    return await benchEvents(
      stage,
      quick ? { rounds: 2, seconds: 0.5, deliveries: 500 } : { rounds: 10, seconds: 0.4, deliveries: 4_000 },
    )
  },
  async usage(stage, quick) {
    return await benchUsage(stage, quick ? { rounds: 2, batches: 20 } : { rounds: 6, batches: 100 })
  },
  async storage(stage, quick) {
    return await benchStorage(
      stage,
      quick ? { rounds: 2, bytes: 64 * 2 ** 20 } : { rounds: 5, bytes: 2 ** 26 },
    )
  },
  async backup(stage, quick) {
    return await benchBackup(
      stage,
      quick ? { rows: 2_000, files: 20, bytes: 2 ** 18 } : { rows: 100_000, files: 1_024, bytes: 2 ** 20 },
    )
  },
  async retrieval(stage, quick) {
    return await benchRetrieval(
      stage,
      quick ? { sizes: [1_000, 5_000], rounds: 5 } : { sizes: [1_000, 100_000], rounds: 60 },
    )
  },
  async recall(stage) {
    return await benchRecall(stage)
  },
  async chat(stage, quick) {
    return await benchChat(
      stage,
      quick
        ? { rounds: 5, tokens: 200, streams: 10, perSecond: 100 }
        : { rounds: 10, tokens: 500, streams: 100, perSecond: 50 },
    )
  },
  async generate(stage, quick) {
    return await benchContract(
      stage,
      quick ? { sizes: [60, 130], repeats: 1 } : { sizes: [60, 130, 250, 1_000], repeats: 2 },
    )
  },
  async dev(stage, quick) {
    return await benchDev(stage, { rounds: quick ? 2 : 10 })
  },
  async profiles(stage, quick) {
    return await benchProfiles(
      stage,
      quick
        ? { requests: 2_000, streams: 20, tokens: 100, uploads: 1, deliveries: 500 }
        : { requests: 20_000, streams: 100, tokens: 200, uploads: 8, deliveries: 2_000 },
    )
  },
  async start(stage, quick) {
    installOthers()
    return await benchStart(stage, { repeats: quick ? 1 : 4 })
  },
}

/** The sections of docs/benchmarks.md, in this order. */
const documented = 'budgets http users events chat storage start profiles concurrency'.split(' ')

const usage =
  `Usage: npm run bench -- [${Object.keys(benchmarks).join('|')} …] [--quick] [--write]\n` +
  '       npm run bench -- growth [--rows=N] [--lists=A,B]\n' +
  '       npm run bench -- budgets --update'

answerHelp(import.meta, usage)

function readArguments() {
  try {
    const flag = { type: 'boolean', default: false } as const
    const options = {
      quick: flag,
      update: flag,
      write: flag,
      rows: { type: 'string', default: '100000' },
      lists: { type: 'string', default: '' },
    } as const
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(message: string): never {
  console.error(`${message}\n${usage}`)
  process.exit(1)
}

const {
  values: { quick, update, write, rows: rowsText, lists },
  positionals,
} = readArguments()
const rows = Number(rowsText)
const only = lists === '' ? [] : lists.split(',')
if (!Number.isSafeInteger(rows) || rows < 1_000) refuse('--rows is a number from 1000.')
const unknown = positionals.find((name) => benchmarks[name] === undefined)
if (unknown !== undefined) refuse(`Unknown benchmark: ${unknown}.`)
if (write && positionals.some((name) => !separate.includes(name)))
  refuse(`--write runs the benchmarks of docs/benchmarks.md, all in one run, or ${separate.join(' and ')}.`)

const stage = openStage()
const progress = createProgress()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    interrupted = true
    void stage.close().finally(() => process.exit(130))
  })
}
try {
  const all = write ? documented : Object.keys(benchmarks)
  const texts: Record<string, string> = {}
  const goals: Goal[] = []
  for (const name of positionals.length > 0 ? positionals : all) {
    const started = Date.now()
    const seconds = (): number => Math.round((Date.now() - started) / 1000)
    const report = (): void => progress.report(`${name}: ${seconds()} s`, name)
    report()
    const timer = setInterval(report, 1_000)
    const result = await benchmarks[name](stage, quick).finally(() => clearInterval(timer))
    progress.end()
    texts[name] = typeof result === 'string' ? result : result.text
    if (typeof result !== 'string') goals.push(...result.goals)
    console.log(`${texts[name]}\n\n(${name}: ${seconds()} s)\n`)
    // An interrupted run leaves a page of what it measured.
    if (write) await writeDocument({ texts, goals, quick })
  }
  if (goals.length > 0) console.log(`${goalTable(goals)}\n`)
} catch (error) {
  // An interrupted benchmark fails as expected.
  if (!interrupted) throw error
} finally {
  await stage.close()
}
