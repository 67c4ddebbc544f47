// `npm run migrate`: applies the migrations to DATABASE_URL or the embedded database.
//   --create NAME   writes a migration from the changes in prisma/schema.prisma and prisma/sql/functions;
//                   with --empty, an empty one
//   --distribute    then distributes the tables that grow over the nodes of Citus (docs/scaling.md)
//   --check         fails if prisma/schema.prisma and the migrations differ, or a migration has a later time
// Both load no code of services/ and generated/: some of it may be waiting for the table that they make.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { applyMigrations, readMigrations } from '../../infra/postgres/migrations.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'
import { CommandError, runCommand } from '../command/run-command.ts'
import { functionChanges } from '../generate/sql/functions.ts'
import { SqlMistake } from '../generate/sql/source.ts'

answerHelp(import.meta)

const root = fileURLToPath(new URL('../..', import.meta.url))
const schemaFile = join(root, 'prisma/schema.prisma')
const migrationsFolder = join(root, 'prisma/migrations')

await runCommand(async () => {
  const { create, empty, check, distribute } = readOptions()
  if (create !== undefined) return await createMigration(create, empty)
  if (check) return await checkMigrations()
  const { migrate } = await import('./apply.ts')
  await migrate(distribute)
})

interface Options {
  create?: string
  empty: boolean
  check: boolean
  distribute: boolean
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        create: { type: 'string' },
        empty: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        distribute: { type: 'boolean', default: false },
      },
    })
    return values
  } catch (error) {
    throw new CommandError(
      `${messageOf(error)} The options are --create NAME, --empty, --check and --distribute.`,
    )
  }
}

async function checkMigrations(): Promise<void> {
  const now = timestamp()
  const future = readMigrations(migrationsFolder).find(({ name }) => name.slice(0, now.length) > now)
  if (future !== undefined)
    throw new CommandError(
      `The migration ${future.name} has a time in the future: give its folder the time when it was written.`,
    )
  const difference = await onTemporaryServer((url) => schemaDifference(url))
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
  const script = empty ? '' : await onTemporaryServer(allDifferences)
  if (script === '' && !empty)
    return console.log('prisma/schema.prisma, prisma/sql/functions and prisma/migrations match.')
  // It reads the spec with packages of development.
  const { withEnumChecks } = await import('./enum-checks.ts')
  const text = empty ? '' : await withEnumChecks(script)
  const folder = join(migrationsFolder, `${timestamp()}_${name}`)
  mkdirSync(folder)
  writeFileSync(join(folder, 'migration.sql'), text)
  console.log(
    `Wrote ${relative(process.cwd(), join(folder, 'migration.sql'))}. Review it before you commit it.`,
  )
}

/** The time in UTC, to the second. */
function timestamp(): string {
  return new Date().toISOString().replace(/\D/g, '').slice(0, 14)
}

/** The SQL that changes the migrations' result into the schema and its functions. */
async function allDifferences(url: string): Promise<string> {
  const schema = await schemaDifference(url)
  await applyMigrations(url)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(schema)
    return [schema, await functionChanges(client, root)].filter((part) => part !== '').join('\n')
  } catch (error) {
    if (error instanceof SqlMistake) throw new CommandError(error.message)
    throw error
  } finally {
    await client.end()
  }
}

async function schemaDifference(url: string): Promise<string> {
  const { diffSchema } = await import('./schema-engine.ts').catch(() => {
    throw new CommandError(
      "Prisma's schema engine is not installed. Run `node scripts/setup/main.mjs --dev` first.",
    )
  })
  return await diffSchema({ url, schemaFile, migrationsFolder })
}

/** A temporary database server, independent of the embedded database. */
async function onTemporaryServer<T>(work: (url: string) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'platform-schema-'))
  try {
    const server = await startEmbedded({ dataDir, whenRunning: 'refuse', throwaway: true })
    try {
      return await work(server.url)
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}
