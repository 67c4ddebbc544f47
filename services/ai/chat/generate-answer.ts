// Generates one answer: searches the knowledge bases, builds the prompt and copies what the model streams
// into a LiveAnswer. `extractive-1` quotes the passages without a language model.
import type { Database } from '../../../infra/database/database.ts'
import { builtinModel, builtinProvider } from '../../../infra/config/ai-providers.ts'
import { citationOf, extractiveAnswer, selectQuotes } from '../extractive/answer.ts'
import { queryTerms } from '../extractive/query-terms.ts'
import type { Providers } from '../providers/providers.ts'
import type { ToolCall } from '../providers/tool-calls.ts'
import type { SearchResult, RetrievedPassage } from '../search/search.ts'
import type { Searches } from '../search/searches.ts'
import { countUnparsedDocuments } from '../search/scope.ts'
import { createCitationMarkerParser } from './citation-markers.ts'
import { embedWithinLimit } from './embeddings.ts'
import { completeInFormat } from './complete-in-format.ts'
import type { FinishReason, Outcome } from './finish-answer.ts'
import type { GenerationTask, LiveAnswer } from './live-answer.ts'
import { loadImages, type PartsServices } from './message-parts.ts'
import { buildPrompt } from './prompt.ts'
import { countTokens } from './token-estimate.ts'
import { truncate, type TruncatedAnswer } from './truncate.ts'
import { truncateText } from '../../../infra/text.ts'

export interface GenerateServices {
  database: Database
  providers: Providers
  searches: Searches
  storage: PartsServices['storage']
  onError: (error: Error) => void
}

/** Characters of the question that are used as the search query. */
const maxQueryLength = 4_000
/** How many passages a prompt contains at most. */
const maxPassages = 8
const nothingFound: SearchResult = { passages: [], words: [], chunks: 0 }

/** Throws if the answer fails, or the reason of `answer.signal`. */
export async function generateAnswer(answer: LiveAnswer, services: GenerateServices): Promise<Outcome> {
  const { task, signal } = answer
  const found =
    task.knowledgeBaseIds.length === 0 ? nothingFound : await searchKnowledge(task, signal, services)
  signal.throwIfAborted()
  answer.passages = found.passages.length
  return task.model === builtinModel
    ? await quotePassages(answer, found, services)
    : await streamFromProvider(answer, found.passages, services)
}

async function searchKnowledge(
  task: GenerationTask,
  signal: AbortSignal,
  services: GenerateServices,
): Promise<SearchResult> {
  const { conversation, knowledgeBaseIds, filters, principal } = task
  const query = truncateText(conversation.query ?? conversation.question, maxQueryLength)
  const embedding = await embedQuery(query, task, signal, services)
  const vector = { embedding, embeddingModel: services.providers.embed?.model }
  const search = { knowledgeBaseIds, query, limit: maxPassages, filters, ...vector }
  return await services.searches.search(principal, search, signal)
}

/** Null if there is no embedding model or it fails: the search then uses words only. */
async function embedQuery(
  query: string,
  { principal: { userId, credentialId }, projectId }: GenerationTask,
  signal: AbortSignal,
  { database, providers, onError }: GenerateServices,
): Promise<number[] | null> {
  if (providers.embed === null) return null
  try {
    // Counted without a limit: the answer was within it when it started.
    const account = { userId, credentialId, projectId, tokensPerDay: 0, isReserved: true }
    return (await embedWithinLimit(database, providers.embed, account, [query], signal))[0]
  } catch (error) {
    signal.throwIfAborted()
    onError(error as Error)
    return null
  }
}

async function quotePassages(
  answer: LiveAnswer,
  found: SearchResult,
  { database }: GenerateServices,
): Promise<Outcome> {
  const { task, signal } = answer
  answer.promptTokens = countTokens(task.conversation.question)
  answer.provider = builtinProvider
  const { pieces, finishReason } = await extract(database, task, found)
  signal.throwIfAborted()
  for (const piece of pieces) {
    if ('delta' in piece) answer.addText(piece.delta)
    else answer.addCitation(piece.citation)
  }
  return outcomeOf(answer, finishReason)
}

async function extract(
  database: Database,
  { principal, knowledgeBaseIds, options }: GenerationTask,
  found: SearchResult,
): Promise<TruncatedAnswer> {
  const quotes = selectQuotes(await queryTerms(database, found), found.passages)
  const unread = quotes.length > 0 ? 0 : await countUnparsedDocuments(database, principal, knowledgeBaseIds)
  const searched = knowledgeBaseIds.length > 0
  return truncate([...extractiveAnswer(quotes, { searched, unread })], options)
}

async function streamFromProvider(
  answer: LiveAnswer,
  passages: RetrievedPassage[],
  { database, providers, storage }: GenerateServices,
): Promise<Outcome> {
  const { task, signal } = answer
  const { messages, sources, tokens } = buildPrompt(task.conversation, passages, task.contextWindow)
  answer.promptTokens = tokens
  const parseMarkers = createCitationMarkerParser()
  const cited = new Set<number>()
  const addText = (text: string): void => {
    answer.addText(text)
    for (const number of parseMarkers(text)) {
      const source = sources[number - 1]
      if (source === undefined || cited.has(number)) continue
      cited.add(number)
      const { start_index, end_index, text: quote, score } = source
      answer.addCitation(citationOf(source, { start_index, end_index, quote, score }))
    }
  }
  const readsImages = providers.models.find(({ id }) => id === task.model)?.vision !== false
  const sent = readsImages
    ? await loadImages({ db: database, storage }, task.principal, messages)
    : messages.map(({ images: _, ...message }) => message)
  signal.throwIfAborted()
  const request = {
    ...task.options,
    model: task.model,
    messages: sent,
    signal,
    requestId: task.requestId,
    onProvider: (name: string) => {
      answer.provider = name
    },
    onToolCalls: (calls: ToolCall[]) => answer.setToolCalls(calls),
    onThoughts: (text: string) => {
      answer.thoughts += text
    },
  }
  const { finishReason, usage, toolCalls } =
    task.format === null
      ? await providers.complete(request, addText)
      : await completeInFormat(answer, task.format, request, { providers, addText })
  answer.setToolCalls(toolCalls)
  return outcomeOf(answer, toolCalls.length > 0 && finishReason === 'stop' ? 'tool_calls' : finishReason, {
    promptTokens: plausibleCount(usage?.promptTokens),
    cachedTokens: usage?.cachedTokens ?? 0,
    completionTokens: plausibleCount(usage?.completionTokens),
  })
}

/** The token counts are estimated where the provider reports none. */
function outcomeOf(
  answer: LiveAnswer,
  finishReason: FinishReason,
  reported: { promptTokens: number | null; cachedTokens: number; completionTokens: number | null } = {
    promptTokens: null,
    cachedTokens: 0,
    completionTokens: null,
  },
): Outcome {
  return {
    status: finishReason === 'stop' || finishReason === 'tool_calls' ? 'completed' : 'incomplete',
    finishReason,
    promptTokens: reported.promptTokens ?? answer.promptTokens,
    cachedTokens: reported.promptTokens === null ? 0 : reported.cachedTokens,
    completionTokens: reported.completionTokens ?? answer.countTokens(),
    error: null,
  }
}

/** Null for a token count that cannot be right. */
function plausibleCount(tokens: number | undefined): number | null {
  return tokens !== undefined && Number.isInteger(tokens) && tokens >= 0 && tokens <= 1_000_000_000
    ? tokens
    : null
}
