#!/usr/bin/env node
// The commands of the image: serve, worker, migrate, admin, verify and others. Each runs in this process, so
// that it gets the signals.
const commands: Record<string, string> = {
  serve: '../../app/main.ts',
  worker: '../../app/worker.ts',
  migrate: '../migrate/main.ts',
  admin: '../admin/main.ts',
  backup: '../backup/main.ts',
  restore: '../restore/main.ts',
  verify: '../verify/main.ts',
}

const [name] = process.argv.splice(2, 1)
if (name === undefined || !Object.hasOwn(commands, name)) {
  console.error(`Usage: platform ${Object.keys(commands).join('|')} [options]`)
  process.exit(name === '--help' ? 0 : 2)
}
await import(commands[name])
