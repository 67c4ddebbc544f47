// Compares prisma/schema.prisma with the migrations by Prisma's schema engine (WebAssembly, on the pg
// driver). Only development needs it; the server applies migrations without it.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils'
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'
import { readMigrations } from '../../infra/postgres/migrations.ts'

export interface SchemaSources {
  /** A database server on which the engine may create and drop a database. */
  url: string
  schemaFile: string
  migrationsFolder: string
}

/** The used part of WebAssembly, whose types are only in TypeScript's DOM library. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: object,
  ): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>
}

const INTERNAL_CHAR = 18
const TEXT = 25
const NO_FILTERS = { externalTables: [], externalEnums: [] }

/** The SQL that changes the migrations' result into the schema; empty if they match. */
export async function diffSchema(sources: SchemaSources): Promise<string> {
  return await withEngine(sources, async (prisma) => {
    const { stdout, exitCode } = await prisma.diff({
      from: { tag: 'migrations', ...migrationList(sources.migrationsFolder) },
      to: { tag: 'schemaDatamodel', files: [schemaOf(sources)] },
      script: true,
      exitCode: true,
      filters: NO_FILTERS,
    })
    return exitCode === 0 ? '' : (stdout ?? '')
  })
}

/** Prisma's diagnosis of a database's migration history. */
export async function diagnoseHistory(sources: SchemaSources) {
  return await withEngine(sources, (prisma) =>
    prisma.diagnoseMigrationHistory({
      migrationsList: migrationList(sources.migrationsFolder),
      optInToShadowDatabase: false,
      filters: NO_FILTERS,
    }),
  )
}

/** Runs the engine with a database and an empty shadow database, in which it replays the migrations. */
async function withEngine<T>(
  sources: SchemaSources,
  work: (prisma: engine.SchemaEngine) => Promise<T>,
): Promise<T> {
  await loadEngine()
  const shadow = `shadow_${randomBytes(8).toString('hex')}`
  const shadowUrl = new URL(sources.url)
  shadowUrl.pathname = `/${shadow}`
  const administrator = new pg.Client({ connectionString: sources.url })
  await administrator.connect()
  try {
    await administrator.query(`CREATE DATABASE ${shadow} TEMPLATE template0`)
    const database = new PrismaPg({ connectionString: sources.url })
    const adapter = bindMigrationAwareSqlAdapterFactory({
      provider: database.provider,
      adapterName: database.adapterName,
      connect: () => database.connect(),
      connectToShadowDb: () => connectToShadow(shadowUrl.href),
    })
    const { path, content } = schemaOf(sources)
    const prisma = await engine.SchemaEngine.new({ datamodels: [[path, content]] }, () => {}, adapter)
    try {
      return await work(prisma)
    } finally {
      prisma.free()
    }
  } finally {
    await administrator.query(`DROP DATABASE IF EXISTS ${shadow} WITH (FORCE)`)
    await administrator.end()
  }
}

/** The driver adapter with two fixes that the engine needs. */
async function connectToShadow(url: string): Promise<SqlDriverAdapter> {
  const pool = new pg.Pool({ connectionString: url })
  const query = pool.query.bind(pool) as (request: unknown) => Promise<pg.QueryResult<unknown[]>>

  // The adapter does not support PostgreSQL's internal one-byte "char", which the system catalog uses.
  const characterColumns = new WeakMap<unknown[], number[]>()
  const noteCharacters = async (request: unknown) => {
    const result = await query(request)
    characterColumns.set(
      result.rows,
      result.fields.flatMap(({ dataTypeID }, column) => (dataTypeID === INTERNAL_CHAR ? [column] : [])),
    )
    for (const field of result.fields) if (field.dataTypeID === INTERNAL_CHAR) field.dataTypeID = TEXT
    return result
  }
  const shadow = await new PrismaPg(Object.assign(pool, { query: noteCharacters }) as pg.Pool, {
    disposeExternalPool: true,
  }).connect()
  const queryRaw = shadow.queryRaw.bind(shadow)
  shadow.queryRaw = async (request) => {
    const result = await queryRaw(request)
    for (const column of characterColumns.get(result.rows) ?? [])
      result.columnTypes[column] = ColumnTypeEnum.Character
    return result
  }

  // The adapter splits a script at every semicolon, even inside function bodies; PostgreSQL runs it as a
  // whole.
  shadow.executeScript = async (script) => {
    await query(script)
  }
  return shadow
}

let loaded = false

/** Loaded by hand, because importing WebAssembly as a module is experimental in Node. */
async function loadEngine(): Promise<void> {
  if (loaded) return
  // The engine reports a panic through this object.
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => console.error(message) },
  })
  const glue = fileURLToPath(import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg'))
  const { instance } = await WebAssembly.instantiate(readFileSync(glue.replace(/\.js$/, '.wasm')), {
    './schema_engine_bg.js': engine,
  })
  const { __wbg_set_wasm: setWasm } = engine as unknown as { __wbg_set_wasm(exports: object): void }
  setWasm(instance.exports)
  instance.exports.__wbindgen_start()
  loaded = true
}

function schemaOf({ schemaFile }: SchemaSources): { path: string; content: string } {
  return { path: schemaFile, content: readFileSync(schemaFile, 'utf8') }
}

function migrationList(folder: string) {
  const lockfile = join(folder, 'migration_lock.toml')
  return {
    baseDir: folder,
    lockfile: {
      path: 'migration_lock.toml',
      content: existsSync(lockfile) ? readFileSync(lockfile, 'utf8') : null,
    },
    shadowDbInitScript: '',
    migrationDirectories: readMigrations(folder).map(({ name, script }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: script } },
    })),
  }
}
