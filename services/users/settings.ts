// A user's settings: one flat row in the database, a nested object in the API.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

type Settings = components['schemas']['Settings']
type SettingsUpdate = components['schemas']['SettingsUpdate']

// `default_project_id` is null when the user is no longer a member of the project, or the project is deleted.
const selectSettings = statement<Settings>(`
  SELECT s.theme::text, s.language, s.timezone,
    jsonb_build_object('email', s.notify_email, 'in_app', s.notify_in_app) AS notifications,
    jsonb_build_object('profile_visibility', s.profile_visibility) AS privacy,
    jsonb_build_object('default_model', s.ai_default_model, 'store_history', s.ai_store_history) AS ai,
    m.project_id AS default_project_id, s.updated_at
  FROM settings s LEFT JOIN members m
    ON m.project_id = s.default_project_id AND m.user_id = s.user_id AND m.project_status <> 'deleted'
  WHERE s.user_id = $1`)

export async function readSettings(db: Db, userId: string): Promise<Settings> {
  const [settings] = await db.sql(selectSettings, [userId])
  return settings
}

/**
 * The columns of an update, for Prisma. A field that the update omits is undefined, so Prisma does not change
 * its column.
 */
export function settingsColumns(update: SettingsUpdate) {
  return {
    theme: update.theme,
    language: update.language,
    timezone: update.timezone,
    notifyEmail: update.notifications?.email,
    notifyInApp: update.notifications?.in_app,
    profileVisibility: update.privacy?.profile_visibility,
    aiDefaultModel: update.ai?.default_model,
    aiStoreHistory: update.ai?.store_history,
    defaultProjectId: update.default_project_id,
  }
}
