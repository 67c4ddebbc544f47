// `npm run migrate`: applies the migrations to DATABASE_URL or the embedded database.
//   --create NAME   writes a migration from the changes in prisma/schema.prisma; with --empty, an empty one
//   --check         fails if prisma/schema.prisma and the migrations differ
// Both load no code of services/ and generated/: some of it may be waiting for the table that they make.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { readMigrations } from '../../infra/postgres/migrations.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'
import { CommandError, runCommand } from '../command/run-command.ts'
import { withEnumChecks } from './enum-checks.ts'

answerHelp(import.meta)

const schemaFile = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url))
const migrationsFolder = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

await runCommand(async () => {
  const { create, empty, check } = readOptions()
  if (create !== undefined) return await createMigration(create, empty)
  if (check) return await checkMigrations()
  const { migrate } = await import('./apply.ts')
  await migrate()
})

function readOptions(): { create: string | undefined; empty: boolean; check: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        create: { type: 'string' },
        empty: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
      },
    })
    return { create: values.create, empty: values.empty, check: values.check }
  } catch (error) {
    throw new CommandError(`${messageOf(error)} The options are --create NAME, --empty and --check.`)
  }
}

async function checkMigrations(): Promise<void> {
  const difference = await schemaDifference()
  if (difference === '') return console.log('prisma/schema.prisma and prisma/migrations match.')
  console.error(
    `${difference.trim()}\n\nprisma/schema.prisma and prisma/migrations differ. ` +
      'Write a migration with `npm run migrate -- --create NAME`.',
  )
  process.exitCode = 1
}

async function createMigration(title: string, empty: boolean): Promise<void> {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  if (name === '')
    throw new CommandError(
      'The name of a migration must contain letters or digits: `npm run migrate -- --create add_invoices`.',
    )
  const script = empty ? '' : await schemaDifference()
  if (script === '' && !empty)
    return console.log('prisma/schema.prisma and prisma/migrations match; no migration was written.')
  const text = empty ? '' : await withEnumChecks(script)
  const folder = join(migrationsFolder, `${timestamp()}_${name}`)
  mkdirSync(folder)
  writeFileSync(join(folder, 'migration.sql'), text)
  console.log(
    `Wrote ${relative(process.cwd(), join(folder, 'migration.sql'))}. Review it before you commit it.`,
  )
}

/** Later than every existing migration, even one with a future date. */
function timestamp(): string {
  const now = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const last = readMigrations(migrationsFolder).at(-1)?.name.slice(0, 14) ?? ''
  return now > last || !/^\d{14}$/.test(last) ? now : String(BigInt(last) + 1n)
}

/** Compares on a temporary database server, independent of the embedded database. */
async function schemaDifference(): Promise<string> {
  const { diffSchema } = await import('./schema-engine.ts').catch(() => {
    throw new CommandError(
      "Prisma's schema engine is not installed. Run `node scripts/setup/main.mjs --dev` first.",
    )
  })
  const dataDir = mkdtempSync(join(tmpdir(), 'platform-schema-'))
  try {
    const server = await startEmbedded({ dataDir, whenRunning: 'refuse', throwaway: true })
    try {
      return await diffSchema({ url: server.url, schemaFile, migrationsFolder })
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}
