// Embeddings in the shape of OpenAI's API.
import type { components } from '../../../generated/types.ts'
import { invalidField } from '../../../infra/errors.ts'
import type { EmbeddingModel } from '../providers/embedding.ts'
import type { Providers } from '../providers/providers.ts'

type Schemas = components['schemas']

/** The embedding model that a request names. Throws 400 if the server has no such model. */
export function embeddingModelOf(
  { embed }: Pick<Providers, 'embed'>,
  { model, dimensions }: Schemas['EmbeddingsRequest'],
): EmbeddingModel {
  if (embed === null) throw invalidField('model', 'unsupported', 'This server has no embedding model.')
  if (model !== embed.model)
    throw invalidField('model', 'enum', `The embedding model of this server is ${embed.model}.`)
  if (dimensions !== undefined && dimensions !== embed.dimensions)
    throw invalidField('dimensions', 'unsupported', `The vectors have ${embed.dimensions} dimensions.`)
  return embed
}

export function embeddingListOf(
  { model, encoding_format: format }: Schemas['EmbeddingsRequest'],
  vectors: number[][],
  tokens: number,
): Schemas['EmbeddingList'] {
  return {
    object: 'list',
    model,
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? base64Of(vector) : vector,
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

function base64Of(vector: number[]): string {
  const bytes = Buffer.alloc(4 * vector.length)
  for (const [i, number] of vector.entries()) bytes.writeFloatLE(number, 4 * i)
  return bytes.toString('base64')
}
