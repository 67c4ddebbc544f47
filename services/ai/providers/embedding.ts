// Vectors of texts by an upstream's model, in batches that small servers take too.
import { setTimeout as sleep } from 'node:timers/promises'
import type OpenAI from 'openai'
import { delayAfter } from './backoff.ts'
import { createDeadlines } from './deadlines.ts'
import { BrokenAnswer, refuses, toFailure } from './errors.ts'
import type { EmbeddingSettings } from '../../../infra/config/ai-providers.ts'

export interface EmbeddingOptions {
  client: OpenAI
  settings: EmbeddingSettings
  /** Seconds that each batch may take, further tries included. */
  timeout: number
  retries: number
  report(what: string): void
}

/** Texts of one request: the default limit of Hugging Face's server, the lowest of all. */
const batchSize = 32

/** @returns one vector for each text, in order. @throws ApiError, or the reason of `signal`. */
export type Embed = (texts: string[], signal?: AbortSignal) => Promise<number[][]>

export function createEmbed({
  client,
  settings: { model, dimensions },
  timeout,
  retries,
  report,
}: EmbeddingOptions): Embed {
  // Servers whose models have one length refuse to be told it.
  let takesDimensions = true

  return async (texts, signal) => {
    const vectors: number[][] = []
    for (let i = 0; i < texts.length; i += batchSize)
      vectors.push(...(await embedBatch(texts.slice(i, i + batchSize), signal)))
    return vectors
  }

  async function embedBatch(input: string[], caller: AbortSignal | undefined): Promise<number[][]> {
    const deadlines = createDeadlines(caller, { whole: timeout, first: timeout, idle: timeout })
    const { signal } = deadlines
    try {
      for (let failures = 0; ;) {
        try {
          signal.throwIfAborted()
          const body = {
            model,
            input,
            encoding_format: 'base64' as const,
            ...(takesDimensions && { dimensions }),
          }
          const answer: { data?: unknown } | null = await client.embeddings.create(body, { signal })
          return ordered(answer?.data, input.length)
        } catch (error) {
          if (caller?.aborted) throw caller.reason
          const cause = signal.aborted ? signal.reason : error
          if (takesDimensions && refuses(cause, 'dimensions')) {
            takesDimensions = false
            continue
          }
          const failure = toFailure(cause)
          if (failure === null) throw cause
          const delay = delayAfter(failure, ++failures, retries)
          if (delay === null) {
            if (failure.report !== null) report(failure.report)
            throw failure.error
          }
          await sleep(delay, undefined, { signal }).catch(() => {})
        }
      }
    } finally {
      deadlines.end()
    }
  }

  function ordered(data: unknown, count: number): number[][] {
    if (!Array.isArray(data) || data.length !== count)
      throw new BrokenAnswer('it answered with another number of vectors')
    const vectors: number[][] = []
    for (const item of data as Array<{ index: number; embedding: unknown } | null>) {
      const vector = numbersOf(item?.embedding)
      if (vector.length !== dimensions)
        throw new BrokenAnswer(`its vectors have ${vector.length} numbers, not ${dimensions}`)
      vectors[item!.index] = vector
    }
    if (Object.keys(vectors).length !== count || vectors.length !== count)
      throw new BrokenAnswer('its vectors are in no order')
    return vectors
  }
}

/** Little-endian numbers of 32 bits in base64, or a list from servers that know no other form. */
function numbersOf(embedding: unknown): number[] {
  let numbers: unknown[] = []
  if (Array.isArray(embedding)) {
    numbers = embedding
  } else if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64')
    numbers = Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i))
  }
  if (!numbers.every((number) => Number.isFinite(number)))
    throw new BrokenAnswer('its vectors are of no numbers')
  return numbers as number[]
}
