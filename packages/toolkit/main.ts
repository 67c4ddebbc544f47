#!/usr/bin/env node
// `npx toolkit COMMAND`, or `npm run toolkit -- COMMAND` in a clone: the tools for any OpenAPI document.
//   lint FILE                    errors and warnings
//   generate FILE --out FOLDER   a server with a stub for each operation
//   mock FILE                    a server that keeps what its clients create
//   changes BEFORE AFTER         what changed, and what of it breaks clients
//   contract --spec FILE --url URL [--key KEY]   tests a running server
// `COMMAND --help` shows the options of a command.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { answerHelp } from '@platform-api/openapi/command-help.ts'

const commands = ['lint', 'generate', 'mock', 'changes', 'contract']
const [command, ...rest] = process.argv.slice(2)

if (commands.includes(command)) {
  const main = fileURLToPath(import.meta.resolve(`@platform-api/${command}/main.ts`))
  const child = spawn(process.execPath, [main, ...rest], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128)
  })
} else {
  answerHelp(import.meta)
  console.error(
    `${command === undefined ? 'Pass a command' : `Unknown command: ${command}`}. ` +
      `The commands are ${commands.join(', ')}; see --help.`,
  )
  process.exitCode = 2
}
