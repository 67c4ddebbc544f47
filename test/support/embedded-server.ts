// The supervisor of the embedded database in a process of its own, for tests that kill it. Tells what happens as a line
// of JSON each; SIGINT and SIGTERM drain for a moment, in which the database must still answer, and stop it.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbedded } from '../../infra/postgres/embedded.ts'

const [dataDir = '', whenRunning = 'refuse', onReady = 'serve'] = process.argv.slice(2)
const tell = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)

try {
  const embedded = await startEmbedded({
    dataDir,
    whenRunning: whenRunning as 'attach' | 'refuse',
    onProgress: (progress) => tell({ progress }),
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
      tell({ drained })
      process.exit(0)
    })
  }
  tell({ url: embedded.url, adopted: embedded.adopted })
  setInterval(() => {}, 60_000)
} catch (error) {
  tell({ failed: (error as Error).name, message: (error as Error).message })
  process.exitCode = 1
}
