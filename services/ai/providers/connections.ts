// The calls to the configured providers. This module brings the official client and its HTTP library, so it
// is loaded with the first call.
import type { Config } from '../../../infra/config/config.ts'
import type { ModelSettings, ProviderSettings } from '../../../infra/config/ai-providers.ts'
import { createClient, openAgent } from './client.ts'
import { complete, type CompletionEnd, type CompletionOptions, type CompletionRequest } from './completion.ts'
import { createEmbed, type Embed } from './embedding.ts'
import { ProviderError } from './errors.ts'
import { createQuirks } from './quirks.ts'

export type ProvidersConfig = Pick<
  Config,
  'aiProviders' | 'aiDefaultModel' | 'aiTimeout' | 'aiFirstTokenTimeout' | 'aiIdleTimeout' | 'aiRetries'
>

export interface Connections {
  /** The model must be one of the configured ones. */
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
  const options = new Map<string, CompletionOptions>()
  let embed: Embed | null = null

  for (const provider of config.aiProviders) {
    const client = createClient(provider, agent, timeouts.total * 1000)
    const reporterFor = (model: string) => (report: string) =>
      onError(new ProviderError(`The provider ${provider.name} failed with the model ${model}: ${report}.`))
    const optionsOf = (model: ModelSettings): CompletionOptions => ({
      client,
      model,
      timeouts,
      retries,
      quirks: createQuirks({ limitField: defaultLimitField(provider) }),
      report: reporterFor(model.id),
    })
    for (const model of provider.models) options.set(model.id, optionsOf(model))
    if (provider.embeddings !== null)
      embed = createEmbed({
        client,
        settings: provider.embeddings,
        timeout: timeouts.firstToken,
        retries,
        report: reporterFor(provider.embeddings.model),
      })
  }
  return {
    complete: (request, onText) => complete(request, onText, options.get(request.model)!),
    embed,
    close: () => agent.destroy(),
  }
}

/** OpenAI's own models accept only the newer name, most other servers only the older one. */
function defaultLimitField({ baseUrl }: ProviderSettings): 'max_tokens' | 'max_completion_tokens' {
  return /(^|\.)openai\.com$/.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens'
}
