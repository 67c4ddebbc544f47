// Answers in a format that the request asks for. A whole answer that does not have it is asked for once more,
// and is a refusal then. The text of a stream has been sent when it is checked, so it is followed by the
// refusal.
import type { CompletionEnd, CompletionRequest, Providers } from '../providers/providers.ts'
import type { AnswerFormat } from './answer-format.ts'
import type { LiveAnswer } from './live-answer.ts'
import { countTokens } from './token-estimate.ts'

interface Passing {
  providers: Pick<Providers, 'complete'>
  addText(text: string): void
}

/** Throws as `Providers.complete`. */
export async function completeInFormat(
  answer: LiveAnswer,
  format: AnswerFormat,
  request: CompletionRequest,
  { providers, addText }: Passing,
): Promise<CompletionEnd> {
  const { principal } = answer.task
  const problemOf = async (text: string, end: CompletionEnd): Promise<string | null> =>
    // An answer that was cut is as it is, and a call of a tool comes before the answer.
    end.finishReason === 'stop' && end.toolCalls.length === 0
      ? await format.problemOf(text, principal.userId, request.signal)
      : null
  const refuse = (problem: string): void => {
    answer.refusal = `The model gave no answer in the format of the request. ${problem}`
  }
  if (format.streams) {
    const end = await providers.complete(request, addText)
    const problem = await problemOf(answer.content, end)
    if (problem !== null) refuse(problem)
    return end
  }

  const first = await completeWhole(request)
  const problem = await problemOf(first.text, first)
  if (problem === null) return passOn(first)
  const again = [
    { role: 'assistant' as const, content: first.text },
    { role: 'user' as const, content: `${problem} Answer again, with JSON in the format and nothing else.` },
  ]
  answer.promptTokens += answer.promptTokens + countTokens(again.map(({ content }) => content).join('\n'))
  const second = await completeWhole({ ...request, messages: [...request.messages, ...again] })
  const end = { ...second, usage: sumOf(first.usage, second.usage) }
  const left = await problemOf(second.text, second)
  if (left === null) return passOn(end)
  refuse(left)
  return end

  async function completeWhole(asked: CompletionRequest): Promise<CompletionEnd & { text: string }> {
    const before = answer.withheld
    const end = await providers.complete(asked, (text) => {
      answer.withheld += text
    })
    return { ...end, text: answer.withheld.slice(before.length) }
  }

  function passOn({ text, ...end }: CompletionEnd & { text: string }): CompletionEnd {
    answer.withheld = answer.withheld.slice(0, answer.withheld.length - text.length)
    if (text !== '') addText(text)
    return end
  }
}

function sumOf(first: CompletionEnd['usage'], second: CompletionEnd['usage']): CompletionEnd['usage'] {
  // Without the numbers of both, both are estimated.
  if (first === null || second === null) return null
  return {
    promptTokens: first.promptTokens + second.promptTokens,
    cachedTokens: first.cachedTokens + second.cachedTokens,
    completionTokens: first.completionTokens + second.completionTokens,
  }
}
