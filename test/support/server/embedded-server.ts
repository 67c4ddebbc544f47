// Runs the embedded PostgreSQL supervisor in a process of its own, for tests that kill it. Reports events as
// JSON lines. SIGINT and SIGTERM stop it after a short drain, during which the database must still answer.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbedded } from '../../../infra/postgres/embedded.ts'

const [dataDir = '', whenRunning = 'refuse', onReady = 'serve'] = process.argv.slice(2)
const report = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`)

try {
  const embedded = await startEmbedded({
    dataDir,
    whenRunning: whenRunning as 'attach' | 'refuse',
    onProgress: (progress) => report({ progress }),
  })
  if (onReady === 'exit') process.exit(0)
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, async () => {
      if (stopping) return
      stopping = true
      await sleep(150)
      const client = new pg.Client({ connectionString: embedded.url })
      await client.connect()
      const drained = (await client.query('SELECT 1 AS one')).rows.length === 1
      await client.end()
      await embedded.stop()
      report({ drained })
      process.exit(0)
    })
  }
  report({ url: embedded.url, adopted: embedded.adopted })
  setInterval(() => {}, 60_000)
} catch (error) {
  report({ failed: (error as Error).name, message: (error as Error).message })
  process.exitCode = 1
}
