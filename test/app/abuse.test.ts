// The short form of `npm run abuse`: one short round of attacks on a server with default limits. It holds
// what does not depend on the speed of the machine: no other tenant gets an error, the attacker gets only the
// declared answers and reaches its limit, and each attacking request takes bounded CPU and memory. `npm run
// faults -- abuse` runs all attacks, `npm test` one for each kind of limit.
import t from 'tap'
import { attacks } from '../../scripts/abuse/attacks/all.ts'
import { openClient } from '../../scripts/abuse/client.ts'
import { problemsOf, runAttack, type Result } from '../../scripts/abuse/run.ts'
import { slowModel } from '../../scripts/abuse/slow-model.ts'
import { openTarget } from '../../scripts/abuse/target.ts'
import { openVictims, percentile } from '../../scripts/abuse/victim.ts'
import { openStage } from '../../scripts/bench/stage.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { isLongForm } from '../support/long-form.ts'

const plan = { rounds: 1, ms: 300 }

/** One attack for each of the mechanisms that limit attackers. */
const representative = [
  // The rate limit of an address, and that of a user.
  'bad keys',
  'writes at once',
  // Requests, answers and streams that are held open.
  'slow requests',
  'unread downloads',
  'event streams',
  'slow answers',
  // Bodies and pictures that cost CPU and memory, and requests that wait for one row.
  'bodies of 64 KiB',
  'large pictures',
  'one row',
  // The quota of documents, and the turns of the owners.
  'many documents',
]

t.test('attacks', { timeout: 580_000 }, async (t) => {
  const stage = openStage()
  t.teardown(() => stage.close())
  const { url } = await createTestDatabase(t)
  const target = await openTarget(stage, await slowModel(t), url)
  const client = openClient(target.url)
  const victims = openVictims(target, client)
  t.teardown(async () => {
    await victims.close()
    await client.close()
    await target.close()
  })
  const chosen = attacks.filter(({ name }) => isLongForm || representative.includes(name))
  if (!isLongForm) t.equal(chosen.length, representative.length)
  for (const attack of chosen)
    await t.test(attack.name, async (t) => {
      const result = await runAttack({ target, victims }, attack, plan)
      t.same(problemsOf(result, { maxRatio: Infinity }), [])
      t.comment(`${result.cpuMs.toFixed(2)} ms of CPU; ${JSON.stringify(result.answers)}`)
    })
})

t.test('every problem of a result is named', async (t) => {
  const attack = attacks.find(({ name }) => name === 'many documents')!
  const result: Result = {
    attack: { ...attack, answers: ['200', '429 rate_limit'], limit: '429 rate_limit', cpuMs: 10 },
    quiet: { p50: 1, p99: 2 },
    attacked: { p50: 2, p99: 4 },
    ratio: 2,
    stolen: 0,
    victimFailures: [],
    answers: { 200: 3, '429 rate_limit': 1 },
    cpuMs: 5,
    memory: 20,
    meanwhile: 1,
  }
  const problems = (changes: Partial<Result>) => problemsOf({ ...result, ...changes }, { maxRatio: 5 })
  t.same(problems({}), [])
  t.same(problems({ victimFailures: ['503', '503'] }), ['the victim got 503'])
  t.same(problems({ answers: { 200: 3, 500: 1, '429 rate_limit': 1 } }), ['the attacker got 500'])
  t.same(problems({ answers: { 200: 3 } }), ['the attacker never got 429 rate_limit'])
  t.same(problems({ cpuMs: 12 }), ['a request takes 12.0 ms of CPU'])
  t.same(problems({ memory: 900 }), ['the memory grew by 900 MB'])
  t.same(problems({ ratio: 7 }), ["the victim's p99 is 7.0 times as long"])
  t.same(problems({ ratio: 7, stolen: 0.5 }), [], 'the host took the CPU')
  t.same(problems({ meanwhile: 90 }), ["another tenant's document of one line took 90.0 s"])
})

t.test('percentiles', async (t) => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
  t.equal(percentile(hundred, 0.5), 50)
  t.equal(percentile(hundred, 0.99), 99)
  t.equal(percentile([7], 0.99), 7)
})
