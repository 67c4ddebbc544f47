// A server with many defects, each small: the contract tests find nearly all, each at its operation. `npm run faults` sows all of them and looks at a healthy
// server too; `npm test` looks at some, in test/scripts/contract.test.ts.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runContract, type Outcome } from '../../scripts/contract/run-all.ts'
import { createTestDatabase } from '../support/database.ts'
import { defects, writeCopy, type Defect } from '../support/seeded-defects.ts'
import { bootstrapKey, spawnServer } from '../support/process.ts'

const long = process.env.FAULTS === 'long'
/** How many may be missed. */
const missable = 2

async function outcomeOf(t: Test, sown: Defect[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'defects-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeCopy(folder, sown)
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
    document,
    base: url,
    key: bootstrapKey,
    secondKey: null,
    seed: 11,
    runs: 10,
    readOnly: false,
    wanted: () => true,
    time: 900_000,
    onProgress: () => {},
  })
  t.comment(
    `${outcome.requests} requests in ${outcome.seconds.toFixed(0)} s, ${outcome.findings.all.length} findings`,
  )
  return outcome
}

t.test('every defect can be sown', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'defects-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  t.ok(defects.length >= 25)
  t.equal(new Set(defects.map(({ name }) => name)).size, defects.length)
  writeCopy(folder, defects)
})

if (long)
  t.test('a healthy server is left without a finding', { timeout: 1_200_000 }, async (t) => {
    const { findings } = await outcomeOf(t, [])
    t.same(findings.all, [])
  })

if (long)
  t.test(
    `all but ${missable} of the defects are found at their operations`,
    { timeout: 1_200_000 },
    async (t) => {
      const { findings } = await outcomeOf(t, defects)
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
          `nothing is found at ${untouched}, which has no defect`,
        )
      t.ok(missed.length <= missable, missed.map(({ name }) => name).join(', '))
    },
  )
