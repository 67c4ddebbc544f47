// `npm run abuse`: attacks a server with default limits and measures what another tenant notices.
//   npm run abuse -- documents 'new keys'   only these attacks
//   --quick                                 one short round each, whose timings are not meaningful
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { openStage } from '../bench/stage.ts'
import { attacks } from './attacks/all.ts'
import { openClient } from './client.ts'
import { lowerPriority, startInOwnSession } from './low-priority.ts'
import { report } from './report.ts'
import { problemsOf, runAttack, type Plan, type Result } from './run.ts'
import { slowModel } from './slow-model.ts'
import { openTarget } from './target.ts'
import { openVictims } from './victim.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The victim's p99 during an attack, as a multiple of the quiet one. */
const maxRatio = 5

const { quick, names } = readArguments()
const unknown = names.find((name) => !attacks.some((attack) => attack.name === name))
if (unknown !== undefined) {
  console.error(`Unknown attack: ${unknown}. Attacks: ${attacks.map(({ name }) => name).join(', ')}`)
  process.exit(1)
}
const chosen = attacks.filter(({ name }) => names.length === 0 || names.includes(name))
const plan: Plan = quick ? { rounds: 1, ms: 700 } : { rounds: 3, ms: 3_000 }

const inOwnSession = startInOwnSession(import.meta.filename)
if (inOwnSession === null) await attack()
else {
  for (const signal of signals) process.on(signal, () => inOwnSession.kill(signal))
  const [code] = (await once(inOwnSession, 'exit')) as [number | null]
  process.exitCode = code ?? 1
}

async function attack(): Promise<void> {
  const stage = openStage()
  const closers: Array<() => unknown> = []
  const teardown = (close: () => unknown): void => void closers.push(close)
  const stop = (): void => void stage.close().finally(() => process.exit(130))
  for (const event of [...signals, 'disconnect'] as const) process.once(event, stop)
  process.channel!.unref()

  const results: Result[] = []
  let failed = false
  try {
    const target = await openTarget(stage, await slowModel({ teardown }))
    const client = openClient(target.url)
    const victims = openVictims(target, client)
    lowerPriority()
    for (const attack of chosen) {
      const limits = { maxRatio: quick ? Infinity : maxRatio }
      let result = await runAttack({ target, victims }, attack, plan)
      let problems = problemsOf(result, limits)
      // Other work of the machine can make an attack look worse, so one that fails is measured a second time.
      if (problems.length > 0 && !quick) {
        console.log(`${attack.name}: ${problems.join('; ')}; once more`)
        result = await runAttack({ target, victims }, attack, plan)
        problems = problemsOf(result, limits)
      }
      results.push(result)
      failed ||= problems.length > 0
      console.log(`${attack.name}: ${problems.join('; ') || 'held'}`)
    }
    await victims.close()
    await client.close()
    await target.close()
  } finally {
    for (const close of closers) await close()
    await stage.close()
  }
  console.log(`\n${report(results, plan)}`)
  if (failed) process.exitCode = 1
}

function readArguments(): { quick: boolean; names: string[] } {
  try {
    const { values, positionals } = parseArgs({
      options: { quick: { type: 'boolean', default: false } },
      allowPositionals: true,
    })
    return { quick: values.quick, names: positionals }
  } catch (error) {
    console.error(`${(error as Error).message}\nUsage: npm run abuse -- [attack …] [--quick]`)
    process.exit(1)
  }
}
