// What a question asks about: those of its words that say something, and how much each says by its rarity.
import { statement, type Db } from '../../../infra/database/database.ts'
import { searchConfigurations } from '../parsing/search-languages.ts'
import type { SearchResult } from '../search/search.ts'
import { foldAccents } from '../knowledge/tokenize.ts'

export interface AskedWord {
  /** Folded. */
  text: string
  /** The rarer in the knowledge bases, the more; most for what is in none. */
  weight: number
  /** Whether the knowledge bases have it, in some form. */
  known: boolean
}

/** Passages without the word that are thought beside those there are: in a small knowledge base, too, what all of it is about says something. */
const imagined = 50
/** A word of one or two letters is mere grammar, mostly. */
const short = /^[a-z]{1,2}$/
/** How many words a language has to take for grammar before a question is thought to be in it. */
const fewestOfLanguage = 2

/** What asks says nothing of what is asked about; these are in none of PostgreSQL's lists of stop words. */
const asking = new Set(
  [
    'whose',
    'wer wen wem wessen wann woher wohin warum weshalb wieso wieviel wieviele womit wodurch wofür worin woran worauf wozu',
    'quoi quel quelle quels quelles quand comment pourquoi combien lequel laquelle lesquels lesquelles',
    'cuáles cuánto cuánta cuántos cuántas adónde',
    'cosa quali quando perché',
    'quais onde quanto quanta quantos quantas',
    'welke welk wanneer waar waarom hoeveel waarmee waarvoor',
    'vems när varför',
    'hvem hvilken hvilket hvilke hvornår hvorfor hvordan',
    'milloin missä mistä mihin kuinka montako paljonko',
    'откуда почему какое какие сколько чей',
    'miért melyik mennyi',
    'când unde câte',
    'nasıl niçin hangi',
  ]
    .flatMap((words) => words.split(' '))
    .map(foldAccents),
)

const languages = ['english', ...new Set(Object.values(searchConfigurations))]
const readGrammar = statement<{ words: number[] }>(`
  SELECT array_agg(n::int) AS words FROM unnest($1::text[]) WITH ORDINALITY AS w (word, n), unnest($2::text[]) WITH ORDINALITY AS l (language, place)
  WHERE to_tsvector(language::regconfig, unaccent(word)) = '' GROUP BY place ORDER BY count(*) DESC, place LIMIT 1`)

/** The words that a search looked for, but for those that only ask, in whichever language; all of them where there are no others. */
export async function askedWords(db: Db, { words, chunks }: SearchResult): Promise<AskedWord[]> {
  if (words.length === 0) return []
  const [stopped] = await db.sql(readGrammar, [words.map(({ text }) => text), languages])
  const grammar = new Set(
    stopped !== undefined && stopped.words.length >= fewestOfLanguage ? stopped.words : [],
  )
  const asked = words.map(({ text, ...word }) => ({ ...word, text: foldAccents(text) }))
  const told = asked.filter(({ text }, i) => !grammar.has(i + 1) && !asking.has(text))
  return (told.length > 0 ? told : asked).map(({ text, known, chunks: having }) => ({
    text,
    known,
    weight: weightOf(text, having, chunks),
  }))
}

function weightOf(word: string, having: number, chunks: number): number {
  return (
    (short.test(word) ? 0.3 : 1) *
    Math.log(1 + (Math.max(0, chunks - having) + imagined + 0.5) / (having + 0.5))
  )
}
