// The models of the configured providers, which all implement OpenAI's API, and the built-in model
// `extractive-1`.
import type { components } from '../../../generated/types.ts'
import { invalidField, unavailable } from '../../../infra/errors.ts'
import { Lazy } from '../../../infra/concurrency/lazy.ts'
import type { CompletionEnd, CompletionRequest } from './completion.ts'
import type { Connections, ProvidersConfig } from './connections.ts'
import type { Embed, EmbeddingModel } from './embedding.ts'
import { servedModels } from './served-models.ts'
import {
  builtinModel,
  builtinProvider,
  type ModelPrice,
  type ProviderSettings,
} from '../../../infra/config/ai-providers.ts'

export type { ProvidersConfig } from './connections.ts'
export type { ChatMessage, CompletionEnd, CompletionRequest, Image, ModelOptions } from './completion.ts'

export type Model = components['schemas']['Model']

export interface Providers {
  /** In the configured order, `extractive-1` last. */
  models: Model[]
  /** The id of the model for a chat without `model`. */
  default: string
  has(model: string): boolean
  /** What the provider asks for the model; the first of its providers by default. Null without a price. */
  priceOf(model: string, provider?: string | null): ModelPrice | null
  /**
   * Streams the answer of a language model: calls `onText` with each piece of its text, which is not empty.
   * An answer that exceeds its limit is cut, with the finish reason `length`. Aborting `signal` closes the
   * connection, which stops the model.
   * @throws ApiError: 400 `context_window` (field `messages`), `maximum` (field `max_tokens`) or
   * `unsupported` (the rejected field); 429 if the provider is busy; 503 if it fails. Or the reason of
   * `signal`.
   */
  complete(request: CompletionRequest, onText: (text: string) => void): Promise<CompletionEnd>
  /** One vector of the configured length for each text, in order; null if no provider has embeddings. */
  embed: EmbeddingModel | null
  /** Aborts the requests in progress. */
  close(): Promise<void>
}

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
  const models: Model[] = []
  const languageModels = servedModels(config.aiProviders)
  const connections = new Lazy(async () => (await import('./connections.ts')).connect(config, onError))
  const embedder = config.aiProviders.find((provider) => provider.embeddings !== null)
  const embed: Embed = async (...request) => {
    const connected = await openConnections()
    return await connected.embed!(...request)
  }
  let closed = false

  for (const [id, [{ provider, model }]] of languageModels)
    models.push({
      id,
      provider: provider.name,
      kind: 'language',
      context_window: model.contextWindow,
      max_output_tokens: model.maxOutputTokens,
      vision: model.vision,
      price: shownPrice(model.price, config.aiCurrency),
      is_default: id === config.aiDefaultModel,
    })
  models.push({
    id: builtinModel,
    provider: builtinProvider,
    kind: 'extractive',
    context_window: null,
    max_output_tokens: null,
    vision: false,
    price: null,
    is_default: builtinModel === config.aiDefaultModel,
  })

  return {
    models,
    default: config.aiDefaultModel,
    has: (model) => models.some(({ id }) => id === model),
    priceOf(model, provider = null) {
      const served = languageModels.get(model)
      const by = served?.find((one) => one.provider.name === provider) ?? served?.[0]
      return by?.model.price ?? null
    },
    async complete(request, onText) {
      if (!languageModels.has(request.model))
        throw invalidField('model', 'exists', `There is no language model ${request.model}.`)
      const { complete } = await openConnections()
      return await complete(request, onText)
    },
    embed: embedder === undefined ? null : Object.assign(embed, embeddingModelOf(embedder)),
    async close() {
      closed = true
      await (await connections.peek())?.close()
    },
  }

  async function openConnections(): Promise<Connections> {
    await beforeCall()
    if (closed) throw unavailable()
    return await connections.get()
  }
}

/** Throws 400 if the model does not read images, as far as that is known. */
export function requireVision(providers: Pick<Providers, 'models'>, model: string, field: string): void {
  if (providers.models.find(({ id }) => id === model)?.vision === false)
    throw invalidField(field, 'vision', `The model ${model} does not read images.`)
}

function embeddingModelOf({ name, embeddings }: ProviderSettings): Omit<EmbeddingModel, keyof Embed> {
  const { model, dimensions, inputPrice } = embeddings!
  return { model, dimensions, provider: name, price: inputPrice }
}

function shownPrice(price: ModelPrice | null, currency: string): Model['price'] {
  return price === null
    ? null
    : {
        currency,
        input_micros: Math.round(price.input * 1_000_000),
        cached_input_micros: Math.round(price.cachedInput * 1_000_000),
        output_micros: Math.round(price.output * 1_000_000),
      }
}

/** Throws 400 unless the model exists. */
export function requireModel(providers: Pick<Providers, 'has'>, model: string | null | undefined): void {
  if (model != null && !providers.has(model))
    throw invalidField('model', 'enum', `There is no model ${model}; GET /v1/ai/models lists the models.`)
}
