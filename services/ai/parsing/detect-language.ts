// The language of a text, as the text search configuration of PostgreSQL that fits it.
import { eld } from 'eld/extrasmall'
import { searchConfigurations } from './search-languages.ts'

/** UTF-16 code units of each sample. */
const sampleLength = 3000

/** `simple` where the language is in doubt, or one that PostgreSQL has no configuration for. */
export function detectLanguage(text: string): string {
  const result = eld.detect(samplesOf(text))
  return result.isReliable() ? (searchConfigurations[result.language] ?? 'simple') : 'simple'
}

/** From the beginning, the middle and further on, without what is no language: addresses, code in backticks. */
function samplesOf(text: string): string {
  const starts =
    text.length <= 3 * sampleLength
      ? [0, sampleLength, 2 * sampleLength]
      : [0, 0.4, 0.8].map((part) => Math.floor(part * text.length))
  const sample = starts
    .map((start) => text.slice(start, start + sampleLength))
    .join(text.length <= 3 * sampleLength ? '' : ' ')
  return sample.replace(/https?:\/\/\S{1,500}|`[^`\n]{1,200}`/g, ' ')
}
