// The process of `npm start`, from the settings to the stop.
import { loadEnvFile, readConfig } from '../infra/config/config.ts'
import { startTelemetry } from '../infra/telemetry/start.ts'
import { explainStartupError } from './startup-errors.ts'
import { announce, isTerminal, printLine, runUntilStopped } from './lifecycle.ts'
import { firstKeyLines, firstKeyMessage } from './first-key.ts'
import { startServer, type Server } from './server.ts'

export async function serve(): Promise<void> {
  await runUntilStopped({
    script: 'start',
    explain: explainStartupError,
    async start(progress) {
      loadEnvFile(progress)
      const config = readConfig()
      const telemetry = await startTelemetry(process.env, 'platform-api')
      const server = await startServer(config, {
        onProgress: progress,
        isTerminal,
        telemetry,
      })
      // The first API key is shown only once, so it is printed even after a stop signal.
      return {
        async stop() {
          await server.stop()
          await telemetry?.stop()
        },
        deadline: (config.shutdownDelay + config.shutdownTimeout) * 1000,
        ready: () => printGreeting(server),
      }
    },
  })
}

function printGreeting({ url, firstKey, consoleKey, services }: Server): void {
  if (!isTerminal) {
    announce(`serving at ${url} (reference: ${url}/docs)`)
    if (firstKey !== null && 'file' in firstKey) announce(firstKeyMessage(firstKey.file))
    return
  }
  const bold = (text: string): string => `\x1b[1m${text}\x1b[0m`
  printLine('')
  printLine(`  ${bold('Platform API')} is serving at ${bold(url)}`)
  printLine(`  API reference: ${url}/docs`)
  // The page takes the key out of the address at once.
  const fragment = consoleKey === null ? '' : `#key=${consoleKey}`
  if (services.config.console) printLine(`  Console:       ${url}/console${fragment}`)
  printLine('')
  if (firstKey === null) return
  for (const line of firstKeyLines(firstKey, url, bold)) printLine(line)
}
