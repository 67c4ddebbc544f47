// Servers with a file store that tests share between databases: on disk, or in S3.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { readConfig } from '../../../infra/config/config.ts'
import { statement } from '../../../infra/database/statements.ts'
import { createServices, type Services } from '../../../services/services.ts'
import { noS3, startS3 } from '../../../scripts/test/s3-server.ts'
import { createTestDatabase, testSecretKey } from '../database/database.ts'

export interface StoreKind {
  name: string
  skip: string | false
  /** The settings of a new, empty store. */
  env(t: Test): Promise<Record<string, string>>
}

export const storeKinds: StoreKind[] = [
  { name: 'disk', skip: false, env: async (t) => ({ STORAGE_DIR: newFolder(t) }) },
  { name: 's3', skip: noS3, env: s3Env },
]

async function s3Env(t: Test): Promise<Record<string, string>> {
  const { endpoint, region, accessKeyId, secretAccessKey, bucket } = await startS3(t)
  return {
    STORAGE: 's3',
    STORAGE_DIR: newFolder(t),
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  }
}

function newFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const newIdentity = statement('UPDATE database_identity SET database_id = $1')

/** A database with an id of its own. All test databases are copies of one, with the same id. */
export async function newDatabase(t: Test, id: string): Promise<string> {
  const { url } = await createTestDatabase(t)
  const services = openServices(t, { DATABASE_URL: url, STORAGE_DIR: newFolder(t) })
  await services.database.sql(newIdentity, [id])
  return url
}

/** The services of a process that has not claimed its store yet. */
export function openServices(t: Test, env: Record<string, string>): Services {
  const config = readConfig({ SECRET_KEY: testSecretKey, ...env })
  const services = createServices({ config, databaseUrl: config.databaseUrl! })
  t.teardown(() => services.close())
  return services
}
