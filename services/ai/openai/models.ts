// The models in the shape of OpenAI's API.
import type { components } from '../../../generated/types.ts'
import type { Providers } from '../providers/providers.ts'

type Model = components['schemas']['OpenAiModel']

/** The models that answer. */
export function openAiModels({ models }: Pick<Providers, 'models'>): Model[] {
  return models.map(({ id, provider }) => ({ id, object: 'model', created: 0, owned_by: provider }))
}
