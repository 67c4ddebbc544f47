// A user's settings: one flat row in the database, grouped on the wire.
import type { components } from '../../generated/types.ts'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

type Settings = components['schemas']['Settings']
type SettingsUpdate = components['schemas']['SettingsUpdate']

// A default project counts only while its owner may see it: whoever leaves one, or deletes it, has no default.
const read = statement<Settings>(`
  SELECT s.theme::text, s.language, s.timezone,
    jsonb_build_object('email', s.notify_email, 'in_app', s.notify_in_app) AS notifications,
    jsonb_build_object('profile_visibility', s.profile_visibility) AS privacy,
    jsonb_build_object('default_model', s.ai_default_model, 'store_history', s.ai_store_history) AS ai,
    m.project_id AS default_project_id, s.updated_at
  FROM settings s LEFT JOIN members m
    ON m.project_id = s.default_project_id AND m.user_id = s.user_id AND m.project_status <> 'deleted'
  WHERE s.user_id = $1`)

export async function readSettings(db: Db, userId: string): Promise<Settings> {
  const [settings] = await db.sql(read, [userId])
  return settings
}

/** The columns that an update touches; what it leaves out stays undefined, which Prisma leaves alone. */
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
