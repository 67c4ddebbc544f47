// Storage usage and quota of a workspace: a project, or a user's files outside of projects.
import type { Config } from '../../infra/config/config.ts'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'

export interface Usage {
  files: number
  bytes: number
}

export async function usageOf(db: Db, workspaceId: string): Promise<Usage> {
  return (await sql.readUsage(db, { space_id: workspaceId })) ?? { files: 0, bytes: 0 }
}

/** The quota in bytes of a project, or of a user when `projectId` is null. */
export function quotaFor(config: Readonly<Config>, projectId: string | null): number {
  return projectId === null ? config.storageQuotaUser : config.storageQuotaProject
}
