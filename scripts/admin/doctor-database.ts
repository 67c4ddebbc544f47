// The checks of `doctor` that need the database: connections, version, clock, rights, migrations, the secret
// key, and the file store, which belongs to a database.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../infra/config/config.ts'
import { checkDatabase } from '../../infra/database/check.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { ReadReplica, WrongReplicaError } from '../../infra/database/read-replica.ts'
import { inspectDatabase, type DatabaseFacts } from '../../infra/database/inspect.ts'
import { openCipher } from '../../infra/encryption/secret-key.ts'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { missingMigrations } from '../../infra/postgres/migrations.ts'
import { connectionsOf } from '../../services/services.ts'
import { readOwnMarker, StoreOwnershipError } from '../../services/storage/ownership.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { explain, type Report } from './doctor-report.ts'

const oldestPostgres = 150_000
const maxClockDifference = 5_000

export async function checkTheDatabase(config: Readonly<Config>, report: Report): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== null) return await checkAll(config, databaseUrl, report)
  if (!existsSync(join(dataDir, 'cluster'))) {
    report('ok', 'database', `There is no DATABASE_URL: the first start creates a database in ${dataDir}.`)
    return await checkStore(config, null, report)
  }
  try {
    const postgres = await startEmbedded({ dataDir, whenRunning: 'attach' })
    try {
      await checkAll(config, postgres.url, report)
    } finally {
      await postgres.stop()
    }
  } catch (error) {
    report('problem', 'database', explain(error))
  }
}

async function checkAll(config: Readonly<Config>, url: string, report: Report): Promise<void> {
  const directUrl = config.databaseDirectUrl ?? url
  const facts = await inspect(config, { url, directUrl }, report)
  if (facts === null) return await checkStore(config, null, report)
  checkFacts(config, facts, report)
  const isComplete = await checkMigrations(config, { url: directUrl, facts }, report)
  checkSecretKey(config, facts, report)
  if (isComplete) await checkReplica(config, url, report)
  await checkStore(config, isComplete ? directUrl : null, report)
}

async function inspect(
  config: Readonly<Config>,
  { url, directUrl }: { url: string; directUrl: string },
  report: Report,
): Promise<DatabaseFacts | null> {
  try {
    if (config.databaseUrl !== null)
      await checkDatabase({
        url,
        directUrl,
        preparedStatements: config.databasePreparedStatements,
        connections: connectionsOf(config),
        onWarning: (message) => report('warning', 'connections', message),
      })
    // The role of DATABASE_URL, which serves the requests.
    return await inspectDatabase(url)
  } catch (error) {
    report('problem', 'database', explain(error))
    return null
  }
}

function checkFacts(config: Readonly<Config>, facts: DatabaseFacts, report: Report): void {
  const { version, versionNumber, role, clockDifference, missingRights } = facts
  if (versionNumber < oldestPostgres)
    report('problem', 'database', `PostgreSQL ${version} is too old: use version 15 or later.`)
  else if (config.databaseDirectUrl === null)
    report('ok', 'database', `PostgreSQL ${version} answers, and notifications arrive.`)
  else report('ok', 'database', `PostgreSQL ${version} answers, also at DATABASE_DIRECT_URL.`)
  const ms = Math.abs(clockDifference)
  const difference = `The clocks of this machine and of the database differ by ${ms} ms`
  if (ms <= maxClockDifference) report('ok', 'clock', `${difference}.`)
  else report('warning', 'clock', `${difference}: correct the wrong one, for example with NTP.`)
  if (missingRights.length === 0) report('ok', 'rights', `The role ${role} may use all tables.`)
  else
    report(
      'problem',
      'rights',
      `The role ${role} lacks ${missingRights.length} rights, such as ` +
        `${missingRights.slice(0, 3).join(', ')}: grant them, see "Two roles" in docs/deployment.md.`,
    )
}

/** @returns whether all migrations are applied. */
async function checkMigrations(
  { migrate, databaseDirectUrl }: Readonly<Config>,
  { url, facts }: { url: string; facts: DatabaseFacts },
  report: Report,
): Promise<boolean> {
  try {
    const missing = await missingMigrations(url)
    if (missing.length === 0) report('ok', 'migrations', 'All migrations are applied.')
    else if (!migrate)
      report('problem', 'migrations', `${missing.length} migrations are missing: run \`npm run migrate\`.`)
    else if (!facts.mayCreate && databaseDirectUrl === null)
      report(
        'problem',
        'migrations',
        `${missing.length} migrations are missing, and the role ${facts.role} may not create tables: grant ` +
          'it CREATE on the schema public, or run `npm run migrate` with another role.',
      )
    else
      report(
        'warning',
        'migrations',
        `${missing.length} migrations are missing: the next start applies them.`,
      )
    return missing.length === 0
  } catch (error) {
    report('problem', 'migrations', explain(error))
    return false
  }
}

function checkSecretKey(config: Readonly<Config>, { secretKeyId }: DatabaseFacts, report: Report): void {
  const path = join(config.dataDir, 'secret-key')
  const isNew = config.secretKey === null && !existsSync(path)
  if (isNew && secretKeyId === null)
    return report('ok', 'secret key', `There is no SECRET_KEY: the first start makes one in ${path}.`)
  if (isNew)
    return report(
      'problem',
      'secret key',
      `There is no SECRET_KEY and no ${path}, but the database has secrets of the key ${secretKeyId}: set ` +
        'SECRET_KEY to the value of the other servers, or restore the file.',
    )
  try {
    const { keyId, previousKeyIds } = openCipher(config)
    if (secretKeyId === null || secretKeyId === keyId || previousKeyIds.includes(secretKeyId))
      return report('ok', 'secret key', 'SECRET_KEY is that of the database.')
    report(
      'problem',
      'secret key',
      `SECRET_KEY is the key ${keyId}, but the secrets in the database are encrypted with ${secretKeyId}: ` +
        'set the value of the other servers, or SECRET_KEY_PREVIOUS to the value before.',
    )
  } catch (error) {
    report('problem', 'secret key', explain(error))
  }
}

async function checkReplica(
  { databaseReadUrl, databaseReadMaxLag: maxLag }: Readonly<Config>,
  url: string,
  report: Report,
): Promise<void> {
  if (databaseReadUrl === null) return
  const database = openDatabase({ url, poolSize: 1 })
  const listener = { on() {}, onState() {} }
  const options = { database, listener, url: databaseReadUrl, poolSize: 1, maxLag, onError() {} }
  const replica = new ReadReplica(options)
  try {
    await replica.measure()
    report('ok', 'replica', 'The replica at DATABASE_READ_URL answers.')
  } catch (error) {
    const reason = explain(error)
    const message = `The replica at DATABASE_READ_URL does not answer (${reason}): check the address.`
    report('problem', 'replica', error instanceof WrongReplicaError ? reason : message)
  } finally {
    await replica.close()
    await database.close()
  }
}

/** @param databaseUrl null when the owner of the store cannot be checked. */
async function checkStore(
  config: Readonly<Config>,
  databaseUrl: string | null,
  report: Report,
): Promise<void> {
  if (config.s3 === null && !existsSync(config.storageDir))
    return report('ok', 'files', `There is no folder ${config.storageDir}: the first start creates it.`)
  const store = await openBlobStore(config)
  try {
    await store.ping()
    if (databaseUrl !== null) {
      const db = openDatabase({ url: databaseUrl, poolSize: 1 })
      const marker = await readOwnMarker(db, store).finally(() => db.close())
      const owner = marker === null ? 'belongs to no database yet' : 'belongs to this database'
      return report('ok', 'files', `The file store ${store.location} answers, and ${owner}.`)
    }
    report('ok', 'files', `The file store ${store.location} answers.`)
  } catch (error) {
    const reason = explain(error)
    const toCheck =
      config.s3 === null ? 'STORAGE_DIR and its rights' : 'S3_ENDPOINT, S3_BUCKET, the access key'
    const isExplained = error instanceof StoreOwnershipError
    const message = `The file store ${store.location} does not answer (${reason}): check ${toCheck}.`
    report('problem', 'files', isExplained ? reason : message)
  } finally {
    await store.close()
  }
}
