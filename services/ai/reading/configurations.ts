// The text search configurations that a document may be searched by.

/** Every configuration that PostgreSQL has had since version 14, by the ISO 639-1 code of its language. Malay is close enough to Indonesian. */
export const configurations: Record<string, string> = {
  ar: 'arabic', hy: 'armenian', eu: 'basque', ca: 'catalan', da: 'danish', nl: 'dutch', en: 'english', fi: 'finnish', fr: 'french', de: 'german', el: 'greek',
  hi: 'hindi', hu: 'hungarian', id: 'indonesian', ms: 'indonesian', ga: 'irish', it: 'italian', lt: 'lithuanian', ne: 'nepali', no: 'norwegian', pt: 'portuguese',
  ro: 'romanian', ru: 'russian', sr: 'serbian', es: 'spanish', sv: 'swedish', ta: 'tamil', tr: 'turkish', yi: 'yiddish'
}
