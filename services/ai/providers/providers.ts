// The models that a chat may take: those of the configured servers, which all speak OpenAI's API, and the built-in one.
import type { components } from '../../../generated/types.ts'
import type { Config } from '../../../infra/config/config.ts'
import { invalidField, unavailable } from '../../../infra/errors.ts'
import { complete, type CompletionOptions, type CompletionRequest, type Piece } from './completion.ts'
import { createClient, openAgent } from './client.ts'
import { createEmbed, type Embed } from './embedding.ts'
import { UpstreamError } from './errors.ts'
import { createHabits } from './quirks.ts'
import { builtinModel, builtinProvider, type ProviderSettings } from '../../../infra/config/ai-providers.ts'

export type { CompletionRequest, Piece, Turn } from './completion.ts'

export type Model = components['schemas']['Model']

export interface Upstreams {
  /** In configured order, extractive-1 last. */
  models: Model[]
  /** The id of the model that a chat takes that names none. */
  default: string
  has(model: string): boolean
  /** For a million tokens each; null for what costs nothing. */
  priceOf(model: string): { input: number; output: number } | null
  /**
   * Asks a model of an upstream: pieces of text, none empty, and last the end. `usage` is null where the server does not say;
   * an answer that is longer than the limit allows is cut off there, with `length`. Leaving the iteration, or `signal`, ends
   * the upstream's work at once.
   * @throws ApiError: 400 `context_window` (field `messages`), `maximum` (field `max_tokens`) or `unsupported` (the field that
   * the model does not take); 429 when the upstream is busy; 503 when it fails; or the reason of `signal`.
   */
  complete(request: CompletionRequest): AsyncIterable<Piece>
  /** One vector for each text, in order, all of the configured length; null where no upstream has embeddings. */
  embed: Embed | null
  /** Ends what is under way. */
  close(): Promise<void>
}

export type UpstreamsConfig = Pick<
  Config,
  'aiProviders' | 'aiDefaultModel' | 'aiTimeout' | 'aiFirstTokenTimeout' | 'aiIdleTimeout' | 'aiRetries'
>

export interface UpstreamsOptions {
  /** Told what an operator should know: names, statuses and times, nothing of prompts, answers and keys. */
  onError?: (error: Error) => void
}

export function createUpstreams(
  config: UpstreamsConfig,
  { onError = () => {} }: UpstreamsOptions = {},
): Upstreams {
  const agent = openAgent()
  const times = { whole: config.aiTimeout, first: config.aiFirstTokenTimeout, idle: config.aiIdleTimeout }
  const retries = config.aiRetries
  const models: Model[] = []
  const language = new Map<string, CompletionOptions>()
  let embed: Embed | null = null
  let closed = false

  for (const upstream of config.aiProviders) {
    const client = createClient(upstream, agent, times.whole * 1000)
    const reportOn = (model: string) => (what: string) =>
      onError(new UpstreamError(`The upstream ${upstream.name} failed with the model ${model}: ${what}.`))
    for (const model of upstream.models) {
      const { id, contextWindow, maxOutputTokens } = model
      models.push({
        id,
        provider: upstream.name,
        kind: 'language',
        context_window: contextWindow,
        max_output_tokens: maxOutputTokens,
        is_default: id === config.aiDefaultModel,
      })
      language.set(id, {
        client,
        model,
        times,
        retries,
        habits: createHabits({ usage: true, limit: limitOf(upstream) }),
        report: reportOn(id),
      })
    }
    if (upstream.embeddings !== null) {
      embed = createEmbed({
        client,
        settings: upstream.embeddings,
        timeout: times.first,
        retries,
        report: reportOn(upstream.embeddings.model),
      })
    }
  }
  models.push({
    id: builtinModel,
    provider: builtinProvider,
    kind: 'extractive',
    context_window: null,
    max_output_tokens: null,
    is_default: builtinModel === config.aiDefaultModel,
  })

  return {
    models,
    default: config.aiDefaultModel,
    has: (model) => models.some(({ id }) => id === model),
    priceOf: (model) => language.get(model)?.model.price ?? null,
    complete(request) {
      const options = language.get(request.model)
      if (options === undefined)
        throw invalidField('model', 'exists', `There is no language model ${request.model}.`)
      if (closed) throw unavailable()
      return complete(request, options)
    },
    embed,
    async close() {
      closed = true
      await agent.destroy()
    },
  }
}

/** OpenAI's own models take only the newer name, and most other servers only the older. */
function limitOf({ baseUrl }: ProviderSettings): 'max_tokens' | 'max_completion_tokens' {
  return /(^|\.)openai\.com$/.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens'
}
