// `npm run abuse`: attacks a server with default limits and measures what another tenant notices.
//   npm run abuse -- documents 'new keys'   only these attacks
//   --quick                                 one short round each, whose timings are not meaningful
import { existsSync, readdirSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parseArgs } from 'node:util'
import { openStage } from '../bench/stage.ts'
import { attacks } from './attacks/all.ts'
import { openClient } from './client.ts'
import { report } from './report.ts'
import { problemsOf, runAttack, type Plan, type Result } from './run.ts'
import { slowModel } from './slow-model.ts'
import { openTarget } from './target.ts'
import { openVictims } from './victim.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

/** The victim's p99 during an attack, as a multiple of the quiet one. */
const maxRatio = 5

const { quick, names } = readArguments()
const unknown = names.find((name) => !attacks.some((attack) => attack.name === name))
if (unknown !== undefined) {
  console.error(`Unknown attack: ${unknown}. Attacks: ${attacks.map(({ name }) => name).join(', ')}`)
  process.exit(1)
}
const chosen = attacks.filter(({ name }) => names.length === 0 || names.includes(name))
const plan: Plan = quick ? { rounds: 1, ms: 700 } : { rounds: 3, ms: 1_500 }

const stage = openStage()
const closers: Array<() => unknown> = []
const teardown = (close: () => unknown): void => void closers.push(close)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void stage.close().finally(() => process.exit(130)))

const results: Result[] = []
let failed = false
try {
  const target = await openTarget(stage, await slowModel({ teardown }))
  const client = openClient(target.url)
  const attackers = threads()
  const victims = openVictims(target, client)
  // The attacker takes no CPU from the server and the victim, as if on another machine.
  for (const thread of attackers) setPriority(thread, 19)
  for (const attack of chosen) {
    const result = await runAttack({ target, victims }, attack, plan)
    results.push(result)
    const problems = problemsOf(result, { maxRatio: quick ? Infinity : maxRatio })
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

/** The threads of this process, also those that collect garbage. Empty where Linux does not list them. */
function threads(): number[] {
  const folder = '/proc/self/task'
  return existsSync(folder) ? readdirSync(folder).map(Number) : []
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
