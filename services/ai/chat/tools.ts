// The tools of a chat: functions of the caller's program. The model calls them, and the caller sends the
// results.
import type { components } from '../../../generated/types.ts'
import { builtinModel } from '../../../infra/config/ai-providers.ts'
import { invalidField } from '../../../infra/errors.ts'
import { storableText } from '../../../infra/text.ts'
import type { ChatMessage, ModelOptions } from '../providers/providers.ts'
import type { HistoryMessage } from './messages.ts'

type Schemas = components['schemas']
type ToolFields = Pick<Schemas['ChatRequest'], 'tools' | 'tool_choice' | 'parallel_tool_calls'>
type ToolCall = Schemas['ToolCall']

const choices = ['none', 'auto', 'required']

/** The fields of a request to the provider. Throws 400 for tools that contradict each other. */
export function toolFieldsOf({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: ToolFields): ModelOptions['fields'] {
  if (tools === undefined) {
    if (choice !== undefined && choice !== 'none' && choice !== 'auto')
      throw invalidField('tool_choice', 'tools', '`tool_choice` requires `tools`.')
    return undefined
  }
  const names = tools.map(({ name }) => name)
  if (new Set(names).size < names.length)
    throw invalidField('tools', 'uniqueItems', 'Two tools have the same name.')
  if (choice !== undefined && !choices.includes(choice) && !names.includes(choice))
    throw invalidField('tool_choice', 'enum', `There is no tool ${choice}.`)
  return {
    tools: tools.map((tool) => ({ type: 'function', function: tool })),
    ...(choice !== undefined && {
      tool_choice: choices.includes(choice) ? choice : { type: 'function', function: { name: choice } },
    }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  }
}

/** Throws 400 for tools of the built-in model, which calls none. */
export function requireCallable(model: string, { tools }: ToolFields): void {
  if (tools !== undefined && model === builtinModel)
    throw invalidField('tools', 'unsupported', `${builtinModel} does not support \`tools\`.`)
}

/** The messages of a session as a model gets them. Calls without results are left out. */
export function historyMessages(history: HistoryMessage[]): ChatMessage[] {
  return history.flatMap(({ role, content, tool_calls: calls, ...message }): ChatMessage[] => {
    const images = imagesOf(message)
    if (calls == null || calls.some(({ result }) => result === null))
      return content === '' ? [] : [{ role, content, ...(images !== undefined && { images }) }]
    const toolCalls = calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
    const results = calls.map(({ id, result }) => ({
      role: 'tool' as const,
      content: result!,
      toolCallId: id,
    }))
    return [{ role, content, toolCalls }, ...results]
  })
}

export function imagesOf({
  image_file_ids: ids,
}: Pick<HistoryMessage, 'image_file_ids'>): ChatMessage['images'] {
  return ids.length === 0 ? undefined : ids.map((fileId) => ({ fileId }))
}

/** The calls with their results. Throws 400 unless each call has one result. */
export function withResults(
  calls: ToolCall[],
  results: Schemas['ToolResultsRequest']['results'],
): ToolCall[] {
  const byCall = new Map<string, string>()
  for (const [i, { tool_call_id: id, content }] of results.entries()) {
    const field = `results[${i}].tool_call_id`
    if (!calls.some((call) => call.id === id))
      throw invalidField(field, 'exists', `The message has no tool call ${id}.`)
    if (byCall.has(id)) throw invalidField(field, 'uniqueItems', `The tool call ${id} has two results.`)
    byCall.set(id, storableText(content))
  }
  const missing = calls.find(({ id }) => !byCall.has(id))
  if (missing !== undefined)
    throw invalidField('results', 'required', `The tool call ${missing.id} has no result.`)
  return calls.map((call) => ({ ...call, result: byCall.get(call.id)! }))
}
