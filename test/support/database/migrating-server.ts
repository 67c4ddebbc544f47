// Applies a folder of migrations in a process of its own, for tests that kill it or run two at once.
import { applyMigrations } from '../../../infra/postgres/migrations.ts'

const [url = '', folder = ''] = process.argv.slice(2)
const applied = await applyMigrations(url, () => {}, { folder })
process.stdout.write(`${JSON.stringify({ applied })}\n`)
