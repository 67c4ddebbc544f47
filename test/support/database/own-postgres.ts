// PostgreSQL servers of a test's own, for what the shared one cannot show: a streaming replica, TLS, a full
// disk.
import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { accountFor } from '../../../infra/postgres/account.ts'
import { databaseUrl } from '../../../infra/postgres/address.ts'
import { findBinaries } from '../../../infra/postgres/binaries.ts'
import { ADMINISTRATOR, clusterFolder, passwordFile } from '../../../infra/postgres/cluster.ts'
import { startEmbedded } from '../../../infra/postgres/embedded.ts'
import { recordedPid } from '../../../infra/postgres/orphan-processes.ts'
import { startPostmaster } from '../../../infra/postgres/postmaster.ts'
import { prepareDatabase } from '../../../infra/prepare-database.ts'
import { freePort } from '../../../scripts/test/free-port.ts'

export interface OwnPostgres {
  /** The role `platform`, which owns the database and is no superuser. */
  url: string
  /** The superuser, in the same database. */
  superuserUrl: string
  dataDir: string
  pid: number
  stop(): Promise<void>
}

/** A stopped PostgreSQL with a migrated database. @returns its data folder. */
export async function createCluster({ parent = tmpdir(), migrated = true } = {}): Promise<string> {
  const dataDir = mkdtempSync(join(parent, 'own-postgres-'))
  const embedded = await startEmbedded({ dataDir, whenRunning: 'refuse', throwaway: true })
  try {
    if (migrated) await prepareDatabase(embedded.url)
    // A throwaway PostgreSQL stops as by a crash, and keeps what a checkpoint has written.
    await execute(embedded.url.replace('://platform:', `://${ADMINISTRATOR}:`), 'CHECKPOINT')
  } finally {
    await embedded.stop()
  }
  return dataDir
}

/** Runs it on a port of loopback until the test ends. */
export async function runCluster(
  t: Pick<Test, 'teardown'>,
  dataDir: string,
  { settings = '', port }: { settings?: string; port?: number } = {},
): Promise<OwnPostgres> {
  const binaries = findBinaries()
  const folder = clusterFolder(dataDir)
  const password = readFileSync(passwordFile(dataDir), 'utf8').trim()
  const address = { host: '127.0.0.1', port: port ?? (await freePort()) }
  appendFileSync(join(folder, 'postgresql.auto.conf'), settings)
  const postmaster = await startPostmaster({
    binaries,
    account: accountFor(folder, binaries.postgres),
    cluster: { folder, password },
    logFile: join(dataDir, 'postgres.log'),
    address,
    throwaway: true,
  })
  t.teardown(postmaster.stop)
  const urlOf = (role: string): string => databaseUrl(address, { role, password, database: 'platform' })
  return {
    url: urlOf('platform'),
    superuserUrl: urlOf(ADMINISTRATOR),
    dataDir,
    pid: recordedPid(join(folder, 'postmaster.pid'))!,
    stop: postmaster.stop,
  }
}

/** A primary with a migrated database, and its streaming replica. */
export async function startReplicatedPostgres(
  t: Pick<Test, 'teardown'>,
): Promise<{ primary: OwnPostgres; replica: OwnPostgres }> {
  const dataDir = await createCluster()
  const copy = mkdtempSync(join(tmpdir(), 'own-postgres-'))
  execFileSync('cp', ['-a', `${dataDir}/.`, copy])
  const primary = await runCluster(t, dataDir)
  const { hostname, port, password } = new URL(primary.superuserUrl)
  const connection = `host=${hostname} port=${port} user=${ADMINISTRATOR} password=${password}`
  const signal = join(clusterFolder(copy), 'standby.signal')
  writeFileSync(signal, '')
  ownFile(copy, signal)
  const replica = await runCluster(t, copy, { settings: `primary_conninfo = '${connection}'\n` })
  return { primary, replica }
}

/** Gives a file to the account that runs the PostgreSQL of the data folder, for itself alone. */
export function ownFile(dataDir: string, file: string): void {
  chmodSync(file, 0o600)
  accountFor(clusterFolder(dataDir), findBinaries().postgres).own(file)
}

export async function execute(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}
