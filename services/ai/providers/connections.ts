// The calls to the configured providers. This module brings the official client and its HTTP library, so it
// is loaded with the first call.
import type { Config } from '../../../infra/config/config.ts'
import type { ProviderSettings } from '../../../infra/config/ai-providers.ts'
import { createClient, openAgent } from './client.ts'
import { complete, type CompletionEnd, type CompletionOptions, type CompletionRequest } from './completion.ts'
import { createEmbed, type Embed, type EmbeddingUpstream } from './embedding.ts'
import { ProviderError } from './errors.ts'
import { Circuit, tryInOrder } from './fallback.ts'
import { servedModels } from './served-models.ts'
import { createQuirks } from './quirks.ts'

export type ProvidersConfig = Pick<
  Config,
  | 'aiProviders'
  | 'aiDefaultModel'
  | 'aiCurrency'
  | 'aiTimeout'
  | 'aiFirstTokenTimeout'
  | 'aiIdleTimeout'
  | 'aiRetries'
>

export interface Connections {
  /** The model must be one of the configured ones. Its providers are tried in order until one answers. */
  complete(request: CompletionRequest, onText: (text: string) => void): Promise<CompletionEnd>
  /** null if no provider has embeddings. */
  embed: Embed | null
  /** Aborts the requests in progress. */
  close(): Promise<void>
}

export function connect(config: ProvidersConfig, onError: (error: Error) => void): Connections {
  const agent = openAgent()
  const timeouts = {
    total: config.aiTimeout,
    firstToken: config.aiFirstTokenTimeout,
    idle: config.aiIdleTimeout,
  }
  const retries = config.aiRetries
  const clients = new Map(
    config.aiProviders.map((provider) => [provider, createClient(provider, agent, timeouts.total * 1000)]),
  )
  const reporterFor = (provider: ProviderSettings, model: string) => (report: string) =>
    onError(new ProviderError(`The provider ${provider.name} failed with the model ${model}: ${report}.`))
  const upstreams = new Map<string, CompletionUpstream[]>()
  for (const [id, served] of servedModels(config.aiProviders))
    upstreams.set(
      id,
      served.map(({ provider, model }) => ({
        provider: provider.name,
        circuit: new Circuit(),
        options: {
          client: clients.get(provider)!,
          model,
          timeouts,
          quirks: createQuirks({ limitField: defaultLimitField(provider) }),
          report: reporterFor(provider, id),
        },
      })),
    )
  const embedding = config.aiProviders.flatMap((provider): EmbeddingUpstream[] => {
    const { embeddings: settings } = provider
    if (settings === null) return []
    const report = reporterFor(provider, settings.model)
    return [{ circuit: new Circuit(), client: clients.get(provider)!, settings, report }]
  })

  return {
    complete: (request, onText) =>
      tryInOrder(upstreams.get(request.model)!, (upstream, { isLast, answered }) =>
        completeWith(upstream, request, onText, { retries: isLast ? retries : 0, answered }),
      ),
    embed: embedding.length === 0 ? null : createEmbed(embedding, { timeout: timeouts.firstToken, retries }),
    close: () => agent.destroy(),
  }
}

/** A provider that serves a model. */
interface CompletionUpstream {
  provider: string
  circuit: Circuit
  options: Omit<CompletionOptions, 'retries'>
}

async function completeWith(
  { provider, options }: CompletionUpstream,
  request: CompletionRequest,
  onText: (text: string) => void,
  { retries, answered }: { retries: number; answered: () => void },
): Promise<CompletionEnd> {
  request.onProvider?.(provider)
  let hasStarted = false
  const passOn = (text: string): void => {
    if (!hasStarted) answered()
    hasStarted = true
    onText(text)
  }
  return await complete(request, passOn, { ...options, retries })
}

/** OpenAI's own models accept only the newer name, most other servers only the older one. */
function defaultLimitField({ baseUrl }: ProviderSettings): 'max_tokens' | 'max_completion_tokens' {
  return /(^|\.)openai\.com$/.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens'
}
