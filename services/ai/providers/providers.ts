// The models of the configured providers, which all implement OpenAI's API, and the built-in model
// `extractive-1`.
import type { components } from '../../../generated/types.ts'
import type { Config } from '../../../infra/config/config.ts'
import { invalidField, unavailable } from '../../../infra/errors.ts'
import {
  complete,
  type CompletionOptions,
  type CompletionRequest,
  type CompletionPiece,
} from './completion.ts'
import { createClient, openAgent } from './client.ts'
import { createEmbed, type Embed } from './embedding.ts'
import { ProviderError } from './errors.ts'
import { createQuirks } from './quirks.ts'
import { builtinModel, builtinProvider, type ProviderSettings } from '../../../infra/config/ai-providers.ts'

export type { ChatMessage, CompletionPiece, CompletionRequest } from './completion.ts'

export type Model = components['schemas']['Model']

export interface Providers {
  /** In the configured order, `extractive-1` last. */
  models: Model[]
  /** The id of the model for a chat without `model`. */
  default: string
  has(model: string): boolean
  /** Per million tokens; null for a model without a price. */
  priceOf(model: string): { input: number; output: number } | null
  /**
   * Streams the answer of a language model: non-empty pieces of text, then the end. `usage` is null if the
   * provider does not report it. An answer that exceeds its limit is cut, with the finish reason `length`.
   * Leaving the iteration or aborting `signal` closes the connection, which stops the model.
   * @throws ApiError: 400 `context_window` (field `messages`), `maximum` (field `max_tokens`) or
   * `unsupported` (the rejected field); 429 if the provider is busy; 503 if it fails. Or the reason of
   * `signal`.
   */
  complete(request: CompletionRequest): AsyncIterable<CompletionPiece>
  /** One vector of the configured length for each text, in order; null if no provider has embeddings. */
  embed: Embed | null
  /** Aborts the requests in progress. */
  close(): Promise<void>
}

export type ProvidersConfig = Pick<
  Config,
  'aiProviders' | 'aiDefaultModel' | 'aiTimeout' | 'aiFirstTokenTimeout' | 'aiIdleTimeout' | 'aiRetries'
>

export interface ProvidersOptions {
  /** Receives reports for the operator: names, statuses and times, but no prompts, answers or API keys. */
  onError?: (error: Error) => void
  /** Called before each request to a provider. Throws if there must be none. */
  beforeCall?: () => Promise<void>
}

export function createProviders(
  config: ProvidersConfig,
  { onError = () => {}, beforeCall = async () => {} }: ProvidersOptions = {},
): Providers {
  const agent = openAgent()
  const timeouts = {
    total: config.aiTimeout,
    firstToken: config.aiFirstTokenTimeout,
    idle: config.aiIdleTimeout,
  }
  const retries = config.aiRetries
  const models: Model[] = []
  const completionOptions = new Map<string, CompletionOptions>()
  let embed: Embed | null = null
  let closed = false

  for (const provider of config.aiProviders) {
    const client = createClient(provider, agent, timeouts.total * 1000)
    const reporterFor = (model: string) => (report: string) =>
      onError(new ProviderError(`The provider ${provider.name} failed with the model ${model}: ${report}.`))
    for (const model of provider.models) {
      const { id, contextWindow, maxOutputTokens } = model
      models.push({
        id,
        provider: provider.name,
        kind: 'language',
        context_window: contextWindow,
        max_output_tokens: maxOutputTokens,
        is_default: id === config.aiDefaultModel,
      })
      completionOptions.set(id, {
        client,
        model,
        timeouts,
        retries,
        quirks: createQuirks({ acceptsUsage: true, limitField: defaultLimitField(provider) }),
        report: reporterFor(id),
      })
    }
    if (provider.embeddings !== null) {
      const embedNow = createEmbed({
        client,
        settings: provider.embeddings,
        timeout: timeouts.firstToken,
        retries,
        report: reporterFor(provider.embeddings.model),
      })
      embed = async (...request) => {
        await beforeCall()
        return await embedNow(...request)
      }
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
    priceOf: (model) => completionOptions.get(model)?.model.price ?? null,
    complete(request) {
      const options = completionOptions.get(request.model)
      if (options === undefined)
        throw invalidField('model', 'exists', `There is no language model ${request.model}.`)
      if (closed) throw unavailable()
      return afterCheck(beforeCall, complete(request, options))
    },
    embed,
    async close() {
      closed = true
      await agent.destroy()
    },
  }
}

async function* afterCheck<T>(check: () => Promise<void>, pieces: AsyncIterable<T>): AsyncGenerator<T> {
  await check()
  yield* pieces
}

/** OpenAI's own models accept only the newer name, most other servers only the older one. */
function defaultLimitField({ baseUrl }: ProviderSettings): 'max_tokens' | 'max_completion_tokens' {
  return /(^|\.)openai\.com$/.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens'
}

/** Throws 400 unless the model exists. */
export function requireModel(providers: Pick<Providers, 'has'>, model: string | null | undefined): void {
  if (model != null && !providers.has(model))
    throw invalidField('model', 'enum', `There is no model ${model}; GET /v1/ai/models lists the models.`)
}
