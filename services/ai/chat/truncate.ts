// Truncates an answer of `extractive-1` at a stop sequence or at `max_tokens`, as a language model would.
import type { ExtractivePiece } from '../extractive/answer.ts'
import { countTokens } from './token-estimate.ts'
import { truncateText } from '../../../infra/text.ts'

export interface TruncatedAnswer {
  pieces: ExtractivePiece[]
  finishReason: 'stop' | 'length'
}

/** Keeps a citation only if all text before it is kept. */
export function truncate(
  pieces: ExtractivePiece[],
  { maxTokens = Infinity, stop = [] }: { maxTokens?: number; stop?: string[] },
): TruncatedAnswer {
  const content = pieces.map((piece) => ('delta' in piece ? piece.delta : '')).join('')
  const maxLength = lengthOf(content, maxTokens)
  const stops = stop
    .map((text) => ({ at: content.indexOf(text), text }))
    .filter(({ at, text }) => at !== -1 && at + text.length <= maxLength)
  const end = Math.min(maxLength, ...stops.map(({ at }) => at))
  const isComplete = stops.length > 0 || maxLength === content.length
  return { pieces: piecesUpTo(pieces, end), finishReason: isComplete ? 'stop' : 'length' }
}

function piecesUpTo(pieces: ExtractivePiece[], end: number): ExtractivePiece[] {
  const kept: ExtractivePiece[] = []
  let length = 0
  for (const piece of pieces) {
    if ('citation' in piece) {
      if (length <= end) kept.push(piece)
      continue
    }
    const delta = piece.delta.slice(0, Math.max(0, end - length))
    length += piece.delta.length
    if (delta !== '') kept.push({ delta })
  }
  return kept
}

/**
 * The length of the longest prefix with at most `maxTokens` tokens. It does not end inside a character.
 */
function lengthOf(content: string, maxTokens: number): number {
  if (countTokens(content) <= maxTokens) return content.length
  let [fits, tooLong] = [0, content.length]
  while (fits + 1 < tooLong) {
    const middle = (fits + tooLong) >> 1
    if (countTokens(content.slice(0, middle)) <= maxTokens) fits = middle
    else tooLong = middle
  }
  return truncateText(content, fits).length
}
