#!/usr/bin/env node
// The commands of the image: serve, worker, migrate, admin, verify and others. Each runs in this process, so
// that it gets the signals.
import { answerHelp } from '../../infra/command-help.ts'

const commands: Record<string, string> = {
  serve: '../../app/main.ts',
  worker: '../../app/worker.ts',
  migrate: '../migrate/main.ts',
  admin: '../admin/main.ts',
  backup: '../backup/main.ts',
  restore: '../restore/main.ts',
  verify: '../verify/main.ts',
}

const usage = `Usage: platform ${Object.keys(commands).join('|')} [options]`

const name = process.argv[2] ?? ''
if (!Object.hasOwn(commands, name)) {
  answerHelp(import.meta, usage)
  console.error(usage)
  process.exit(2)
}
process.argv.splice(2, 1)
await import(commands[name])
