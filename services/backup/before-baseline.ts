// Backups of databases whose migrations were replaced by the baseline. Their schema is that of the baseline
// with other names.
import type pg from 'pg'
import { BackupError } from '../../infra/backup/errors.ts'
import type { Manifest } from '../../infra/backup/manifest.ts'
import { readMigrations } from '../../infra/postgres/migrations.ts'

const first = '20261121000000_people_keys_projects'
const last = '20261231000009_rights_that_are_held'
const renamed: Record<string, string> = { space_id: 'workspace_id', space_ids: 'workspace_ids' }

export function isBeforeBaseline({ migrations }: Manifest): boolean {
  return migrations.includes(first)
}

/** The manifest with the names of the baseline. @throws BackupError if the database lacked migrations. */
export function withBaseline(manifest: Manifest): Manifest {
  if (!manifest.migrations.includes(last))
    throw new BackupError(
      `The database of the backup lacks the migration ${last}: restore it with version ` +
        `${manifest.version}, run the last version before the baseline on it, and make a new backup.`,
    )
  return {
    ...manifest,
    migrations: [readMigrations()[0].name],
    // Ids of lexemes were negative. The sequence of the baseline begins at 1.
    sequences: manifest.sequences.map((sequence) =>
      Number(sequence.last_value) < 1 ? { ...sequence, last_value: '1', is_called: false } : sequence,
    ),
    tables: manifest.tables.map((table) => ({
      ...table,
      columns: table.columns.map((column) => renamed[column] ?? column),
    })),
  }
}

/** Names inside JSON, and a field that actors did not have. */
export async function renameInRows(client: pg.Client): Promise<void> {
  await client.query(`
    UPDATE ai_messages SET citations = (
      SELECT jsonb_agg(c - 'space_id' || jsonb_build_object('workspace_id', c->'space_id'))
      FROM jsonb_array_elements(citations) c
    ) WHERE citations <> '[]'`)
  await client.query(`
    UPDATE events SET actor = '{"service_account_id": null}' || actor WHERE NOT actor ? 'service_account_id'`)
}
