// The quotas of a user, which triggers of the database count and enforce, by the rows of
// prisma/sql/functions/all-quotas.sql. Their names and defaults are in infra/config/settings.ts.
import type { Config } from '../../infra/config/config.ts'
import { quotaSettings } from '../../infra/config/settings.ts'
import type { ConstraintError } from '../../infra/database/errors.ts'
import type { Db } from '../../infra/database/database.ts'
import { limitReached } from '../../infra/errors.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import * as sql from '../../generated/sql/users.ts'

type QuotaSetting = keyof typeof quotaSettings

/** As in prisma/sql/functions/all-quotas.sql. */
export type QuotaName = (typeof quotaSettings)[QuotaSetting]['quota']

export interface Quota {
  name: QuotaName
  setting: QuotaSetting
  /** The name of the counted resources in messages. */
  what: string
}

export const quotas: Quota[] = Object.entries(quotaSettings).map(([setting, { quota: name, what }]) => ({
  name,
  setting: setting as QuotaSetting,
  what,
}))

export const quotaNames = quotas.map(({ name }) => name)

/** The 403 for each quota that is used up. */
export function quotaErrors(config: Readonly<Config>): ConstraintError[] {
  return quotas.map(({ name, setting, what }) => ({
    constraint: `quota_${name}`,
    message: `quota ${name} is used up`,
    error: (message) => {
      const limit = config[setting]
      const [, used = limit, limitedId] = /is used up: (\d+) of (\w+)/.exec(message) ?? []
      const error = limitReached(
        'FORBIDDEN',
        name,
        `A user may have ${limit} ${what}. GET /v1/user/limits shows all limits.`,
        { name, limit, used: Number(used), resets_at: null },
      )
      return Object.assign(error, { limitedId })
    },
  }))
}

/** Stores the limits for the triggers. */
export async function storeLimits(db: Db, config: Readonly<Config>): Promise<void> {
  await sql.storeQuotaLimits(db, { quotas: quotaNames, values: quotas.map(({ setting }) => config[setting]) })
}

const changesPerStep = 5000

/** Adds the changes of quotas to their totals. */
export function quotaCountTasks(): RetentionTask[] {
  return [{ name: 'changes of quotas', step: deleteBatch(sql.addUpQuotaChanges, changesPerStep) }]
}
