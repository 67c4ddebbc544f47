// The models in the shape of OpenAI's API.
import type { components } from '../../../generated/types.ts'
import type { Providers } from '../providers/providers.ts'

type Model = components['schemas']['OpenAiModel']

/** The models that answer, and the one that computes embeddings. */
export function openAiModels({ models, embed }: Pick<Providers, 'models' | 'embed'>): Model[] {
  const all = embed === null ? models : [...models, { id: embed.model, provider: embed.provider }]
  return all.map(({ id, provider }) => ({ id, object: 'model', created: 0, owned_by: provider }))
}
