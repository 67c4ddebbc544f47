// Files in the shape of OpenAI's API. The purpose is the pair `purpose` in the metadata of a file.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Query } from '../../infra/contract/query.ts'
import type { SqlClient } from '../../infra/database/database.ts'
import type { WorkspaceFilter } from '../projects/workspaces.ts'
import type { StoredFile } from './files.ts'

type OpenAiFile = components['schemas']['OpenAiFile']
type Purpose = components['schemas']['OpenAiFilePurpose']

/** The purpose of a file without another one. */
export const defaultPurpose = 'user_data'
const otherPurposes: Purpose[] = ['assistants', 'batch', 'fine-tune', 'vision']

/** The largest page. */
const maxLimit = 100

export function toOpenAiFile(file: StoredFile): OpenAiFile {
  return {
    id: file.id,
    object: 'file',
    bytes: file.bytes,
    created_at: secondsOf(file.created_at),
    ...(file.expires_at !== null && { expires_at: secondsOf(file.expires_at) }),
    filename: file.name,
    purpose: otherPurposes.find((purpose) => purpose === file.metadata.purpose) ?? defaultPurpose,
    status: 'processed',
  }
}

/** One page of the files of workspaces, without a total. */
export async function listOpenAiFiles(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  { purpose, after, limit, order }: Query<'listOpenAiFiles'>,
): Promise<components['schemas']['OpenAiFileList']> {
  const { data, pagination } = await sql.listFiles.after(db, after, {
    ...workspaces,
    sort: 'created_at',
    order,
    limit: Math.min(limit, maxLimit),
    ...(purpose !== undefined &&
      (purpose === defaultPurpose ? { without_purposes: otherPurposes } : { metadata: { purpose } })),
  })
  return {
    object: 'list',
    data: data.map(toOpenAiFile),
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: pagination.has_more,
  }
}

function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1000)
}
