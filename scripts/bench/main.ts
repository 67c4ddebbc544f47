// `npm run bench`: runs the benchmarks on this machine.
//   npm run bench -- http|growth|scale|events|storage|backup|retrieval|recall|chat|generate|dev|start
//                                           only these
//   --quick                                 a short trial run, whose numbers are not meaningful
import { parseArgs } from 'node:util'
import { benchBackup } from './backup.ts'
import { benchBudgets } from './budgets.ts'
import { benchChat } from './chat.ts'
import { benchContract } from './contract.ts'
import { benchDev } from './dev.ts'
import { benchEvents } from './events.ts'
import { benchGrowth } from './growth.ts'
import { benchHttp } from './http.ts'
import { installOthers } from './install.ts'
import { benchRecall, benchRetrieval } from './retrieval/main.ts'
import { benchScale } from './scale.ts'
import { benchStorage } from './storage.ts'
import { openStage, type Stage } from './stage.ts'
import { benchStart } from './start.ts'
import { answerHelp } from '../../infra/command-help.ts'
import { createProgress } from '../command/progress.ts'

const benchmarks: Record<string, (stage: Stage, quick: boolean) => Promise<string>> = {
  async http(stage, quick) {
    installOthers()
    return await benchHttp(stage, quick ? { rounds: 2, seconds: 0.3 } : { rounds: 30, seconds: 0.5 })
  },
  async budgets(stage) {
    return await benchBudgets(stage, { update: process.argv.includes('--update') })
  },
  async growth(stage, quick) {
    return await benchGrowth(
      stage,
      quick
        ? { sizes: [1_000, 20_000], rounds: 3, seconds: 0.2 }
        : { sizes: [1_000, 1_000_000], rounds: 40, seconds: 0.3 },
    )
  },
  async scale(stage, quick) {
    return await benchScale(
      stage,
      quick
        ? { sizes: [1_000, 10_000], rounds: 2, seconds: 0.2 }
        : { sizes: [10_000, 100_000, 1_000_000, 10_000_000], rounds: 20, seconds: 0.3 },
    )
  },
  async events(stage, quick) {
    return await benchEvents(
      stage,
      quick ? { rounds: 2, seconds: 0.5, deliveries: 500 } : { rounds: 20, seconds: 1, deliveries: 10_000 },
    )
  },
  async storage(stage, quick) {
    return await benchStorage(
      stage,
      quick
        ? { rounds: 2, bytes: 64 * 2 ** 20, files: [1_000, 20_000], seconds: 0.2 }
        : { rounds: 15, bytes: 2 ** 30, files: [1_000, 1_000_000], seconds: 0.3 },
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
        : { rounds: 60, tokens: 500, streams: 100, perSecond: 50 },
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
  async start(stage, quick) {
    installOthers()
    return await benchStart(stage, quick ? { sizes: [1], repeats: 1 } : { sizes: [1, 1_000], repeats: 5 })
  },
}

const usage = `Usage: npm run bench -- [${Object.keys(benchmarks).join('|')} …] [--quick]`

answerHelp(import.meta, usage)

function readArguments(): { quick: boolean; positionals: string[] } {
  try {
    const {
      values: { quick },
      positionals,
    } = parseArgs({
      options: { quick: { type: 'boolean', default: false }, update: { type: 'boolean', default: false } },
      allowPositionals: true,
    })
    return { quick, positionals }
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    process.exit(1)
  }
}

const { quick, positionals } = readArguments()
const unknown = positionals.find((name) => benchmarks[name] === undefined)
if (unknown !== undefined) {
  console.error(`Unknown benchmark: ${unknown}.\n${usage}`)
  process.exit(1)
}

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
  for (const name of positionals.length > 0 ? positionals : Object.keys(benchmarks)) {
    const started = Date.now()
    const seconds = (): number => Math.round((Date.now() - started) / 1000)
    const report = (): void => progress.report(`${name}: ${seconds()} s`, name)
    report()
    const timer = setInterval(report, 1_000)
    const result = await benchmarks[name](stage, quick).finally(() => clearInterval(timer))
    progress.end()
    console.log(`${result}\n\n(${name}: ${seconds()} s)\n`)
  }
} catch (error) {
  // An interrupted benchmark fails as expected.
  if (!interrupted) throw error
} finally {
  await stage.close()
}
