// A user's settings: one flat row in the database, a nested object in the API.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/users.ts'

type Settings = components['schemas']['Settings']
type SettingsUpdate = components['schemas']['SettingsUpdate']

export async function readSettings(db: Db, userId: string): Promise<Settings> {
  return await sql.readSettings(db, { user_id: userId })
}

/**
 * The columns of an update, for Prisma. A field that the update omits is undefined, so Prisma does not change
 * its column.
 */
export function settingsColumns(update: SettingsUpdate) {
  return {
    theme: update.theme,
    aiDefaultModel: update.ai?.default_model,
    aiStoreHistory: update.ai?.store_history,
    defaultProjectId: update.default_project_id,
  }
}
