// Token usage per API key and day (UTC). Each answer, complete or not, is counted in the transaction that
// finishes it.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'

export interface Usage {
  promptTokens: number
  completionTokens: number
  /** Millionths of the currency of the configured prices. */
  costMicros: number
}

/** `price` is per million tokens, so the result is in millionths of the currency. */
export function costOf(
  { promptTokens, completionTokens }: Omit<Usage, 'costMicros'>,
  price: { input: number; output: number } | null,
): number {
  return price === null ? 0 : Math.round(promptTokens * price.input + completionTokens * price.output)
}

const today = "(now() AT TIME ZONE 'UTC')::date"

const add = statement(`
  INSERT INTO ai_usage AS u (api_key_id, day, requests, prompt_tokens, completion_tokens, cost_micros)
  VALUES ($1, ${today}, 1, $2, $3, $4)
  ON CONFLICT (api_key_id, day) DO UPDATE SET requests = u.requests + 1, prompt_tokens = u.prompt_tokens + $2,
    completion_tokens = u.completion_tokens + $3, cost_micros = u.cost_micros + $4`)

export async function addUsage(
  tx: Db,
  keyId: string,
  { promptTokens, completionTokens, costMicros }: Usage,
): Promise<void> {
  await tx.sql(add, [keyId, promptTokens, completionTokens, costMicros])
}

export interface DailyUsage {
  day: string
  requests: number
  prompt_tokens: number
  completion_tokens: number
  cost_micros: number
}

const readToday = statement<DailyUsage>(`
  SELECT ${today}::text AS day, coalesce(u.requests, 0) AS requests,
    coalesce(u.prompt_tokens, 0) AS prompt_tokens, coalesce(u.completion_tokens, 0) AS completion_tokens,
    coalesce(u.cost_micros, 0) AS cost_micros
  FROM (SELECT 1) AS one LEFT JOIN ai_usage u ON u.api_key_id = $1 AND u.day = ${today}`)

export async function usageToday(db: Db, keyId: string): Promise<DailyUsage> {
  const [usage] = await db.sql(readToday, [keyId])
  return usage
}
