// `npm run verify`: compares the database with the file store, and exits with 1 if they differ.
//   --hash   also reads every blob and compares its SHA-256
import { parseArgs } from 'node:util'
import { explainStartupError } from '../../app/startup-errors.ts'
import { loadEnvFile, readConfig } from '../../infra/config/config.ts'
import { ApiError } from '../../infra/errors.ts'
import { readOwnMarker } from '../../services/storage/ownership.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { verifyStore, type Verification } from '../../services/storage/verify.ts'
import { withDatabase } from '../admin/with-database.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const statementTimeout = 600_000

const { hash } = readArguments()
try {
  await main()
} catch (error) {
  console.error(explainStartupError(error) ?? (error instanceof ApiError ? error.message : error))
  process.exitCode = 1
}

function readArguments(): { hash: boolean } {
  try {
    const { values } = parseArgs({ options: { hash: { type: 'boolean', default: false } } })
    return { hash: values.hash }
  } catch (error) {
    console.error(`${(error as Error).message} The option is --hash.`)
    process.exit(2)
  }
}

async function main(): Promise<void> {
  loadEnvFile()
  const config = readConfig()
  await withDatabase(config, { statementTimeout }, async (db) => {
    const store = await openBlobStore(config)
    try {
      await readOwnMarker(db, store)
      const result = await verifyStore(db, store, {
        hash,
        onDifference: ({ kind, key, bytes }) => console.log(`${kind.padEnd(10)}  ${key}  ${bytes} bytes`),
      })
      console.log(summaryOf(result, store.location))
      if (Object.values(result.differences).some((n) => n > 0)) process.exitCode = 1
    } finally {
      await store.close()
    }
  })
}

function summaryOf(
  { blobs, bytes, quarantined, uploading, differences }: Verification,
  location: string,
): string {
  const { missing, unknown, wrong_size: size, wrong_hash: digest } = differences
  return (
    `${location}: ${blobs} blobs, ${bytes} bytes; ` +
    `${quarantined} in quarantine, ${uploading} being uploaded.\n` +
    `${missing} missing, ${unknown} unknown, ${size} of the wrong size` +
    `${hash ? `, ${digest} with the wrong SHA-256` : ''}.`
  )
}
