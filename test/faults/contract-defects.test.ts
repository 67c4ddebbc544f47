// The contract tests find almost all seeded defects at their operations. `npm run faults` seeds all of them
// and also runs against a healthy server; `npm test` seeds a few, in test/scripts/contract.test.ts.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runContract, type Outcome } from '../../packages/contract/run-all.ts'
import { profile } from '../../scripts/profiles/contract.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { defects, occurrencesOf, writeCopy, type Defect } from '../support/generator/seeded-defects.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { isLongForm } from '../support/long-form.ts'

/** The number of defects that the run may miss. */
const maxMissed = 2

async function runWithDefects(t: Test, seeded: Defect[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'defects-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeCopy(folder, seeded)
  const { url: databaseUrl } = await createTestDatabase(t)
  const unlimited = Object.fromEntries(
    ['DEFAULT', 'WRITE', 'UPLOAD', 'AI', 'PAGE', 'GATEWAY', 'ADDRESS'].map((policy) => [
      `RATE_LIMIT_${policy}`,
      '1000000',
    ]),
  )
  const { url } = await spawnServer(
    t,
    { ...unlimited, DATABASE_URL: databaseUrl, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'fatal' },
    folder,
  )
  const document = await (await fetch(`${url}/openapi.json`)).json()
  const outcome = await runContract({
    profile,
    document,
    base: url,
    key: bootstrapKey,
    secondKey: null,
    seed: 11,
    runs: 10,
    readOnly: false,
    selected: () => true,
    time: 900_000,
    onProgress: () => {},
  })
  const { requests, seconds, findings } = outcome
  t.comment(`${requests} requests in ${seconds.toFixed(0)} s, ${findings.all.length} findings`)
  return outcome
}

t.test('the text that a defect replaces occurs exactly once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'defects-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  t.ok(defects.length >= 25)
  t.equal(new Set(defects.map(({ name }) => name)).size, defects.length)
  t.same(
    defects.filter((defect) => occurrencesOf(defect) !== 1).map(({ name, file }) => `${name}: ${file}`),
    [],
  )
  writeCopy(folder, defects)
})

if (isLongForm)
  t.test('a run against a healthy server has no findings', { timeout: 1_200_000 }, async (t) => {
    const { findings, unfinished } = await runWithDefects(t, [])
    t.same(findings.all, [])
    t.same(unfinished, [], 'every operation succeeds')
  })

if (isLongForm)
  t.test(
    `at most ${maxMissed} defects are missed, and all others found at their operations`,
    { timeout: 1_200_000 },
    async (t) => {
      const { findings } = await runWithDefects(t, defects)
      const missed = defects.filter(
        ({ operations, checks }) =>
          !findings.all.some(
            ({ operation, check }) => operations.includes(operation) && checks.includes(check),
          ),
      )
      for (const { name } of missed) t.comment(`missed: ${name}`)
      for (const untouched of ['getOrder', 'listProjects', 'getFile', 'listModels', 'createOrder', 'getDocs'])
        t.same(
          findings.all.filter(({ operation }) => operation === untouched),
          [],
          `no finding at ${untouched}, which has no defect`,
        )
      t.ok(missed.length <= maxMissed, missed.map(({ name }) => name).join(', '))
    },
  )
