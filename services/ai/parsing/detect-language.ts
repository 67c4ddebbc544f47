// Detects the language of a text and maps it to a PostgreSQL text search configuration.
import { eld } from 'eld/extrasmall'
import { searchConfigurations } from './search-languages.ts'

/** UTF-16 code units of each sample. */
const sampleLength = 3000

/** `simple` if the detection is unreliable or PostgreSQL has no configuration for the language. */
export function detectLanguage(text: string): string {
  const result = eld.detect(sample(text))
  return result.isReliable() ? (searchConfigurations[result.language] ?? 'simple') : 'simple'
}

/** Samples at 0, 40 and 80 % of the text, without URLs and code in backticks. A short text is taken whole. */
function sample(text: string): string {
  const isShort = text.length <= 3 * sampleLength
  const starts = isShort
    ? [0, sampleLength, 2 * sampleLength]
    : [0, 0.4, 0.8].map((part) => Math.floor(part * text.length))
  return starts
    .map((start) => text.slice(start, start + sampleLength))
    .join(isShort ? '' : ' ')
    .replace(/https?:\/\/\S{1,500}|`[^`\n]{1,200}`/g, ' ')
}
