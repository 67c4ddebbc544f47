// Token usage per user, API key and day (UTC), and by project and model. Each answer, complete or not, is
// counted in the transaction that finishes it. Embeddings are counted before they are computed, see
// embeddings.ts.
import * as sql from '../../../generated/sql/chat.ts'
import type { ModelPrice } from '../../../infra/config/ai-providers.ts'
import type { Db, SqlClient } from '../../../infra/database/database.ts'
import { ApiError, type ReachedLimit } from '../../../infra/errors.ts'

/** The 429 for a user who has used the tokens of today. */
export class TokensUsedUp extends ApiError {
  constructor(tokensPerDay: number, used: number) {
    const dayEnds = startOfNextDay()
    const limit: ReachedLimit = {
      name: 'tokens_per_day',
      limit: tokensPerDay,
      used,
      resets_at: new Date(dayEnds).toISOString(),
    }
    super(
      429,
      'RATE_LIMITED',
      `The ${tokensPerDay} tokens of today (UTC) are used or reserved by answers in progress.`,
      { constraint: 'tokens_per_day', limit },
      { 'retry-after': String(Math.ceil((dayEnds - Date.now()) / 1000)) },
    )
  }
}

const millisecondsPerDay = 86_400_000

/** The end of today (UTC), in milliseconds. */
export function startOfNextDay(): number {
  return (Math.floor(Date.now() / millisecondsPerDay) + 1) * millisecondsPerDay
}

export interface Usage {
  promptTokens: number
  completionTokens: number
  /** Millionths of the currency of the configured prices; null for a model without a price. */
  costMicros: number | null
}

/** `price` is per million tokens, so the result is in millionths of the currency. Null without a price. */
export function costOf(
  { promptTokens, cachedTokens, completionTokens }: Omit<Usage, 'costMicros'> & { cachedTokens: number },
  price: ModelPrice | null,
): number | null {
  if (price === null) return null
  const { input, cachedInput, output } = price
  const cost = (promptTokens - cachedTokens) * input + cachedTokens * cachedInput + completionTokens * output
  return Math.round(cost)
}

/** What an answer counts to. */
interface UsageOf {
  userId: string
  credentialId: string
  projectId: string | null
  model: string
}

export async function addUsage(
  tx: SqlClient,
  { userId, credentialId, projectId, model }: UsageOf,
  { promptTokens, completionTokens, costMicros }: Usage,
): Promise<void> {
  await sql.addUsage(tx, {
    user_id: userId,
    api_key_id: credentialId,
    project_id: projectId,
    model,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    cost_micros: costMicros ?? 0,
  })
}

export async function usageToday(db: Db, userId: string): Promise<sql.ReadUsageTodayRow> {
  return await sql.readUsageToday(db, { user_id: userId })
}
