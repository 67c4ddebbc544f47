// What an answer cites, as OpenAI's clients read it.
import type { components } from '../../../generated/types.ts'

type Schemas = components['schemas']

/** `origin`: where this server is. */
export function citationsOf(
  { message }: Schemas['ChatResponse'],
  origin: string,
): Schemas['ChatAnnotation']['url_citation'][] {
  return message.citations.map(({ document_id, name, quote }) => ({
    url: `${origin}/v1/ai/documents/${document_id}`,
    title: name,
    start_index: 0,
    end_index: message.content.length,
    document_id,
    quote,
  }))
}
