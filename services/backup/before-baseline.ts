// Backups of databases whose migrations were replaced by the baseline. Their schema is that of the baseline
// with other names, except for the jobs.
import type pg from 'pg'
import { copyFromFile } from '../../infra/backup/copy.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import type { Manifest } from '../../infra/backup/manifest.ts'
import { readMigrations } from '../../infra/postgres/migrations.ts'
import type { LoadOptions } from './load-database.ts'
import { readFileOf, type Backup } from './target.ts'

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

/** How the rows of a backup become those of the baseline. */
export function conversionOf(backup: Backup, manifest: Manifest): Pick<LoadOptions, 'besides' | 'convert'> {
  return {
    besides: ['jobs'],
    async convert(client) {
      await renameInRows(client)
      await loadJobs(client, backup, manifest)
    },
  }
}

/** Names inside JSON, and a field that actors did not have. */
async function renameInRows(client: pg.Client): Promise<void> {
  await client.query(`
    UPDATE ai_messages SET citations = (
      SELECT jsonb_agg(c - 'space_id' || jsonb_build_object('workspace_id', c->'space_id'))
      FROM jsonb_array_elements(citations) c
    ) WHERE citations <> '[]'`)
  await client.query(`
    UPDATE events SET actor = '{"service_account_id": null}' || actor WHERE NOT actor ? 'service_account_id'`)
}

/** Loads the jobs. Their lanes were numbers, and the groups of a lane had its name at their end. */
async function loadJobs(client: pg.Client, backup: Backup, { jobs }: Manifest): Promise<void> {
  const columns = 'jobs (id, queue, lane, group_id, due_at, data)'
  await copyFromFile(client, columns, await readFileOf(backup, jobs!.file))
  await client.query(`
    UPDATE jobs SET group_id = split_part(group_id, '/', 1),
      lane = coalesce((ARRAY['failing', 'recovered', 'slow'])[-lane::int], 'main'),
      data = CASE WHEN data ? 'space_id'
        THEN data - 'space_id' || jsonb_build_object('workspace_id', data->'space_id') ELSE data END`)
}
