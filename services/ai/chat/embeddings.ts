// Computes embeddings within the limit of tokens per day: for searches, answers and documents.
import * as sql from '../../../generated/sql/chat.ts'
import type { Db } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import { ApiError } from '../../../infra/errors.ts'
import type { EmbeddingModel } from '../providers/embedding.ts'
import { countTokens } from './token-estimate.ts'
import { TokensUsedUp } from './usage.ts'

export interface EmbeddingAccount {
  userId: string
  /** Null for work without an API key. */
  credentialId: string | null
  /** The project of what is searched or indexed; null outside projects. */
  projectId: string | null
  /** The limit of the user; 0 for none. */
  tokensPerDay: number
  /** Whether an answer reserved the budgets: then they do not refuse its search. */
  isReserved?: boolean
}

/** What tokens are counted to. */
interface Charged {
  user_id: string
  api_key_id: string
  credential_id: string | null
  project_id: string | null
  model: string
}

/**
 * One vector for each text, in order. The tokens are estimated and counted first, so that requests at once
 * stay within the limit; the number that the provider reports corrects them.
 * @param onTokens called with the tokens that count in the end.
 * @throws TokensUsedUp before anything is sent, ApiError if the provider fails, or the reason of `signal`.
 */
export async function embedWithinLimit(
  db: Db,
  embed: EmbeddingModel,
  { userId, credentialId, projectId, tokensPerDay, isReserved = false }: EmbeddingAccount,
  texts: string[],
  signal?: AbortSignal,
  onTokens?: (tokens: number) => void,
): Promise<number[][]> {
  if (texts.length === 0) return []
  const account = {
    user_id: userId,
    api_key_id: credentialId ?? userId,
    credential_id: credentialId,
    project_id: projectId,
    model: embed.model,
  }
  const estimated = estimateTokens(texts)
  // The price is per million tokens.
  const costOfTokens = (tokens: number): number => Math.round(tokens * (embed.price ?? 0))
  const cost = costOfTokens(estimated)
  const charged = await chargeTokens(
    db,
    { ...account, is_reserved: isReserved },
    estimated,
    cost,
    tokensPerDay,
  )
  if (charged === null) throw new TokensUsedUp(tokensPerDay, await tokensUsed(db, userId))
  let reported: number | null = null
  const settle = async (tokens: number): Promise<void> => {
    onTokens?.(tokens)
    if (tokens === estimated) return
    const { day, limits_of, charged_at } = charged
    await sql.correctTokens(db, {
      ...account,
      day,
      limits_of,
      charged_at,
      tokens: tokens - estimated,
      cost_micros: costOfTokens(tokens) - costOfTokens(estimated),
    })
  }
  try {
    const vectors = await embed(texts, signal, (tokens) => {
      reported = (reported ?? 0) + tokens
    })
    await settle(reported ?? estimated)
    return vectors
  } catch (error) {
    // A provider that failed counts only the batches before. One whose caller has left may count all.
    if (error instanceof ApiError) await settle(reported ?? 0)
    throw error
  }
}

export function estimateTokens(texts: string[]): number {
  return texts.reduce((sum, text) => sum + countTokens(text), 0)
}

async function tokensUsed(db: Db, userId: string): Promise<number> {
  const { tokens } = await sql.readTokensUsed(db, {
    user_id: userId,
    heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
  })
  return tokens
}

/** @returns where the tokens were counted; null if they exceed the limit. */
async function chargeTokens(
  db: Db,
  charged: Charged & { is_reserved: boolean },
  tokens: number,
  costMicros: number,
  tokensPerDay: number,
): Promise<sql.ChargeTokensRow | null> {
  const row = {
    ...charged,
    tokens,
    cost_micros: costMicros,
    tokens_per_day: tokensPerDay,
    heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
  }
  if (tokensPerDay === 0) return (await sql.chargeTokens(db, row))!
  return await db.transaction(async (tx) => {
    await sql.lockUser(tx, { user_id: charged.user_id })
    return (await sql.chargeTokens(tx, row)) ?? null
  })
}
