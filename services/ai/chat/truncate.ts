// Where an answer that is there as a whole ends: before the first of its stop texts, or with the last of its tokens.
import type { ExtractivePiece } from '../extractive/answer.ts'
import { countTokens } from './token-estimate.ts'

export interface CutOff {
  pieces: ExtractivePiece[]
  finishReason: 'stop' | 'length'
}

/** What comes before the end, and the citations of what is whole before it. */
export function cutOff(
  pieces: ExtractivePiece[],
  { maxTokens = Infinity, stop = [] }: { maxTokens?: number; stop?: string[] },
): CutOff {
  const content = pieces.map((piece) => ('delta' in piece ? piece.delta : '')).join('')
  const most = lengthOf(content, maxTokens)
  const stops = stop
    .map((text) => ({ at: content.indexOf(text), text }))
    .filter(({ at, text }) => at !== -1 && at + text.length <= most)
  const end = Math.min(most, ...stops.map(({ at }) => at))
  const kept: ExtractivePiece[] = []
  let at = 0
  for (const piece of pieces) {
    if ('citation' in piece) {
      if (at <= end) kept.push(piece)
      continue
    }
    const delta = piece.delta.slice(0, Math.max(0, end - at))
    at += piece.delta.length
    if (delta !== '') kept.push({ delta })
  }
  return { pieces: kept, finishReason: stops.length > 0 || most === content.length ? 'stop' : 'length' }
}

/** Of the longest beginning that has no more tokens, without half a character at its end. */
function lengthOf(content: string, maxTokens: number): number {
  if (countTokens(content) <= maxTokens) return content.length
  let [fits, most] = [0, content.length]
  while (fits + 1 < most) {
    const middle = (fits + most) >> 1
    if (countTokens(content.slice(0, middle)) <= maxTokens) fits = middle
    else most = middle
  }
  return /[\ud800-\udbff]/.test(content[fits - 1] ?? '') ? fits - 1 : fits
}
