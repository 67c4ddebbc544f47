// Computes embedding vectors with the model of a provider, in batches that every server accepts.
import { setTimeout as sleep } from 'node:timers/promises'
import type OpenAI from 'openai'
import { retryDelay } from './backoff.ts'
import { createDeadlines } from './deadlines.ts'
import { InvalidAnswer, toFailure, UpstreamFailed } from './errors.ts'
import { tryInOrder, type Circuit } from './fallback.ts'
import { createQuirks } from './quirks.ts'
import type { EmbeddingSettings } from '../../../infra/config/ai-providers.ts'

/** A provider that computes embeddings. */
export interface EmbeddingUpstream {
  circuit: Circuit
  client: OpenAI
  settings: EmbeddingSettings
  report(message: string): void
}

export interface EmbeddingOptions {
  /** Seconds for each batch at each provider, including retries. */
  timeout: number
  retries: number
}

/**
 * Texts per request: the default limit of Hugging Face's text-embeddings-inference, the lowest limit we know.
 */
const batchSize = 32

/**
 * @param onTokens called with the tokens that the provider reports for a batch.
 * @returns one vector for each text, in order. @throws ApiError, or the reason of `signal`.
 */
export interface Embed {
  (texts: string[], signal?: AbortSignal, onTokens?: (tokens: number) => void): Promise<number[][]>
}

/** The model of a provider that computes embeddings. */
export interface EmbeddingModel extends Embed {
  readonly model: string
  /** The first of its providers. */
  readonly provider: string
  /** Per million tokens; null without a price. */
  readonly price: number | null
  /** The length of a vector. */
  readonly dimensions: number
}

interface Batch {
  vectors: number[][]
  /** Null if the provider does not report them. */
  tokens: number | null
}

/** The providers, in the order in which they are tried, have the same model. */
export function createEmbed(providers: EmbeddingUpstream[], { timeout, retries }: EmbeddingOptions): Embed {
  const upstreams = providers.map((provider) => ({ ...provider, quirks: createQuirks() }))

  return async (texts, signal, onTokens) => {
    const vectors: number[][] = []
    for (let i = 0; i < texts.length; i += batchSize) {
      const batchTexts = texts.slice(i, i + batchSize)
      const batch = await tryInOrder(upstreams, (upstream, { isLast }) =>
        embedBatch(upstream, batchTexts, signal, isLast ? retries : 0),
      )
      vectors.push(...batch.vectors)
      if (batch.tokens !== null) onTokens?.(batch.tokens)
    }
    return vectors
  }

  async function embedBatch(
    { client, settings: { upstreamId: model, dimensions }, quirks, report }: (typeof upstreams)[number],
    input: string[],
    caller: AbortSignal | undefined,
    maxRetries: number,
  ): Promise<Batch> {
    const deadlines = createDeadlines(caller, { total: timeout, firstToken: timeout, idle: timeout })
    const { signal } = deadlines
    try {
      for (let failures = 0; ;) {
        const { encoding, acceptsDimensions } = quirks.current()
        const body = {
          model,
          input,
          encoding_format: encoding,
          ...(acceptsDimensions && { dimensions }),
        }
        try {
          signal.throwIfAborted()
          const answer: EmbeddingAnswer = await client.embeddings.create(body, { signal })
          const vectors = parseVectors(answer?.data, { count: input.length, dimensions })
          return { vectors, tokens: parseTokens(answer?.usage?.prompt_tokens) }
        } catch (error) {
          if (caller?.aborted) throw caller.reason
          const cause = signal.aborted ? signal.reason : error
          if (quirks.learn(cause, body)) continue
          const failure = toFailure(cause)
          if (failure === null) throw cause
          const delay = retryDelay(failure, ++failures, maxRetries)
          if (delay === null) {
            if (failure.report !== null) report(failure.report)
            throw new UpstreamFailed(failure)
          }
          await sleep(delay, undefined, { signal }).catch(() => {})
        }
      }
    } finally {
      deadlines.clear()
    }
  }
}

type EmbeddingAnswer = { data?: unknown; usage?: { prompt_tokens?: unknown } | null } | null

/** Null if the provider does not report them. */
function parseTokens(tokens: unknown): number | null {
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : null
}

/** The vectors in the order of their `index`. */
function parseVectors(
  data: unknown,
  { count, dimensions }: { count: number; dimensions: number },
): number[][] {
  if (!Array.isArray(data) || data.length !== count)
    throw new InvalidAnswer('it answered with a wrong number of vectors')
  const vectors: number[][] = []
  for (const item of data as Array<{ index: number; embedding: unknown } | null>) {
    const vector = parseVector(item?.embedding)
    if (vector.length !== dimensions)
      throw new InvalidAnswer(`its vectors have ${vector.length} dimensions, not ${dimensions}`)
    vectors[item!.index] = vector
  }
  if (Object.keys(vectors).length !== count || vectors.length !== count)
    throw new InvalidAnswer('its vectors have wrong indices')
  return vectors
}

/** Base64 of little-endian 32-bit floats, or a list of numbers from servers that do not support base64. */
function parseVector(embedding: unknown): number[] {
  let numbers: unknown[] = []
  if (Array.isArray(embedding)) {
    numbers = embedding
  } else if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64')
    numbers = Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i))
  }
  if (!numbers.every((number) => Number.isFinite(number)))
    throw new InvalidAnswer('its vectors do not consist of numbers')
  return numbers as number[]
}
