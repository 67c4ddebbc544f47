// The models and their providers, for the start of the server, which loads no client.
import type { ModelSettings, ProviderSettings } from '../../../infra/config/ai-providers.ts'

/** A model with the provider that serves it. */
export interface ServedModel {
  provider: ProviderSettings
  model: ModelSettings
}

/** Who serves each model, in order. The smallest limits count, so that each can answer every request. */
export function servedModels(providers: ProviderSettings[]): Map<string, ServedModel[]> {
  const served = Map.groupBy(
    providers.flatMap((provider) => provider.models.map((model) => ({ provider, model }))),
    ({ model }) => model.id,
  )
  for (const [id, all] of served) {
    const limits = {
      contextWindow: smallest(all.map(({ model }) => model.contextWindow)),
      maxOutputTokens: smallest(all.map(({ model }) => model.maxOutputTokens)),
      vision: known(all.map(({ model }) => model.vision)),
    }
    served.set(
      id,
      all.map(({ provider, model }) => ({ provider, model: { ...model, ...limits } })),
    )
  }
  return served
}

/** What all can do; null if that is not known. */
function known(abilities: Array<boolean | null>): boolean | null {
  return abilities.includes(false) ? false : abilities.includes(null) ? null : true
}

/** Null is no limit. */
function smallest(limits: Array<number | null>): number | null {
  const given = limits.filter((limit) => limit !== null)
  return given.length === 0 ? null : Math.min(...given)
}
