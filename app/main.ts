// `npm start`: reads the settings, starts the server and says how to use it; stops in order when told to.
import { loadEnvFile, readConfig } from '../infra/config/config.ts'
import { explain } from './startup-errors.ts'
import { runUntilStopped, say } from './lifecycle.ts'
import { startServer, type Server } from './server.ts'

await runUntilStopped({
  script: 'start',
  explain,
  async start(progress) {
    loadEnvFile()
    const config = readConfig()
    const server = await startServer(config, progress)
    // The first key is shown this once, so even when a stop came meanwhile.
    return { stop: () => server.stop(), deadline: config.shutdownTimeout * 1000, ready: () => greet(server) }
  },
})

function greet({ url, firstKey }: Server): void {
  const bold = (text: string): string => (process.stderr.isTTY ? `\x1b[1m${text}\x1b[0m` : text)
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
  say('      -H \'Content-Type: application/json\' -d \'{"name": "My first project"}\'')
  say('')
}
