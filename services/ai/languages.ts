// The languages that PostgreSQL has a stemmer for, by their codes in ISO 639-1.
const configurations: Record<string, string> = {
  ar: 'arabic', hy: 'armenian', eu: 'basque', ca: 'catalan', da: 'danish', nl: 'dutch', en: 'english', fi: 'finnish', fr: 'french', de: 'german',
  el: 'greek', hi: 'hindi', hu: 'hungarian', id: 'indonesian', ga: 'irish', it: 'italian', lt: 'lithuanian', ne: 'nepali', no: 'norwegian',
  nb: 'norwegian', nn: 'norwegian', pt: 'portuguese', ro: 'romanian', ru: 'russian', sr: 'serbian', es: 'spanish', sv: 'swedish', ta: 'tamil', tr: 'turkish', yi: 'yiddish'
}
const names = new Set(Object.values(configurations))

/**
 * The configuration of text search for a language, given as its code or as the configuration's name; `simple`, which only
 * lowers case, for one without a stemmer.
 */
export function configurationOf (language: string): string {
  return configurations[language] ?? (names.has(language) ? language : 'simple')
}
