// Embeddings of the fake model server: texts that share words have similar vectors.
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { errorBody, json, rejectedField, sendError, wordsOf } from './responses.ts'
import type { Offer, RecordedRequest, Script } from './script.ts'

export function embed(
  response: ServerResponse,
  recorded: RecordedRequest,
  script: Script,
  offer: Offer,
): void {
  const { model, input, dimensions, encoding_format: format = 'float' } = recorded.body
  if (offer.embeddings === null || model !== offer.embeddings!.model)
    return sendError(
      response,
      recorded,
      404,
      errorBody(
        `The model \`${model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        'model_not_found',
      ),
    )
  const rejected = rejectedField(recorded.body, script)
  if (rejected !== undefined)
    return sendError(
      response,
      recorded,
      400,
      errorBody(
        `This model does not support specifying ${rejected}.`,
        'invalid_request_error',
        null,
        rejected,
      ),
    )
  const texts: string[] = Array.isArray(input) ? input : [input]
  if (texts.length === 0 || texts.some((text) => typeof text !== 'string' || text === ''))
    return sendError(
      response,
      recorded,
      400,
      errorBody(
        "'$.input' is invalid. Please check the API reference: " +
          'https://platform.openai.com/docs/api-reference.',
        'invalid_request_error',
      ),
    )
  const data = texts.map((text, index) => {
    const vector = vectorOf(text, dimensions ?? offer.embeddings!.dimensions)
    return {
      object: 'embedding',
      index,
      embedding:
        format === 'base64' && script.floats !== true
          ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
          : vector,
    }
  })
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length, 0)
  json(response, 200, { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } })
}

/** A unit vector. Each word adds its own direction, so texts that share words are similar. */
function vectorOf(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0)
  const words = text
    .toLowerCase()
    .normalize('NFKD')
    .match(/[\p{L}\p{N}]+/gu) ?? [text]
  for (const word of words) {
    const digest = createHash('sha256').update(word).digest()
    for (let i = 0; i < 32; i += 4) vector[digest.readUInt16LE(i) % dimensions] += digest[i + 2] & 1 ? 1 : -1
  }
  const length = Math.hypot(...vector)
  if (length === 0) vector[0] = 1
  return vector.map((number) => (length === 0 ? number : number / length))
}
