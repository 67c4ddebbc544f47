// `npm start`: reads the settings, starts the server and says how to use it; stops in order when told to.
import { ConfigError, loadEnvFile, readConfig } from '../services/config.ts'
import { EmbeddedPostgresError } from '../services/postgres/embedded.ts'
import { MigrationError } from '../services/postgres/migrations.ts'
import { isUnavailable } from '../services/database.ts'
import { StartError, startServer, type Server } from './server.ts'

const interactive = process.stderr.isTTY
const say = (line: string): void => { process.stderr.write(`${line}\n`) }

let server: Server | undefined
let stopping = false

function stop (signal: string): void {
  // Whoever says it twice means at once.
  if (stopping) process.exit(1)
  stopping = true
  say(`${signal}: finishing ${server === undefined ? 'the start' : 'the requests under way'}`)
  if (server !== undefined) void finish(server)
  else setTimeout(() => process.exit(1), 5_000).unref()
}

async function finish (running: Server): Promise<void> {
  // Whatever hangs, the process does not: PostgreSQL, cut off, keeps what it acknowledged.
  setTimeout(() => {
    say('The stop took too long; leaving what is still open.')
    process.exit(1)
  }, running.services.config.shutdownTimeout * 1000 + 1_500).unref()
  await running.stop()
  process.exit(0)
}

process.on('SIGTERM', () => stop('SIGTERM'))
process.on('SIGINT', () => stop('SIGINT'))

// npm hands a signal to the shell between, which dies of it and leaves its child: whoever ended npm meant this server.
if (process.env.npm_lifecycle_event === 'start') {
  const parent = process.ppid
  setInterval(() => { if (process.ppid !== parent && !stopping) stop('npm ended') }, 500).unref()
}

try {
  loadEnvFile()
  const config = readConfig()
  server = await startServer(config, (message) => say(`· ${message}`))
  // Even when a stop came meanwhile: the first key is shown this once.
  greet(server)
  if (stopping) await finish(server)
} catch (error) {
  const sentence = explain(error)
  say(sentence ?? `The server could not start: ${(error as Error).stack ?? error}`)
  process.exit(1)
}

function explain (error: unknown): string | null {
  if (error instanceof ConfigError || error instanceof StartError || error instanceof EmbeddedPostgresError || error instanceof MigrationError) return error.message
  const cause = (error as { cause?: unknown }).cause ?? error
  if (isUnavailable(cause)) return `The database at DATABASE_URL cannot be reached (${(cause as Error).message || (cause as { code?: string }).code}); check the address and that it is running.`
  return null
}

function greet ({ url, firstKey }: Server): void {
  const bold = (text: string): string => interactive ? `\x1b[1m${text}\x1b[0m` : text
  say('')
  say(`  ${bold('Platform API')} is serving at ${bold(url)}`)
  say(`  Reference and try-out page: ${url}/docs`)
  if (firstKey === null) {
    say('')
    return
  }
  say('')
  say(`  Your API key, shown this once:  ${bold(firstKey)}`)
  say('')
  say('  A first request:')
  say(`    curl ${url}/v1/projects \\`)
  say(`      -H 'Authorization: Bearer ${firstKey}' \\`)
  say("      -H 'Content-Type: application/json' -d '{\"name\": \"My first project\"}'")
  say('')
}
