// The content of messages in requests: a text or a list of parts, which becomes one text; and the roles of a
// conversation, which become those that every model knows.
import type { components } from '../../../generated/types.ts'
import { invalidField } from '../../../infra/errors.ts'
import type { ChatMessage } from '../providers/providers.ts'

type MessageContent = components['schemas']['MessageContent']
type ConversationMessage = NonNullable<components['schemas']['ChatRequest']['messages']>[number]

/** As `maxLength` of MessageContent. */
const maxLength = 200_000

/** The text of a message. Throws 400 for parts that together are empty or longer than a text may be. */
export function textOf(content: MessageContent, field: string): string {
  if (typeof content === 'string') return content
  const text = content.map((part) => part.text).join('\n')
  // As the validators count: in code points.
  if (text.length > maxLength && [...text].length > maxLength)
    throw invalidField(field, 'maxLength', `The parts of ${field} must have at most ${maxLength} characters.`)
  if (!/\S/.test(text))
    throw invalidField(field, 'pattern', `The parts of ${field} must have a character other than whitespace.`)
  return text
}

/**
 * The messages of a request, with the roles that every model knows. The result of a call that no message has
 * becomes a text of the user, because models refuse it.
 */
export function conversationMessages(messages: ConversationMessage[]): ChatMessage[] {
  const called = new Set<string>()
  return messages.map(({ role, content, tool_calls: toolCalls, tool_call_id: callId }, i) => {
    const field = `messages[${i}]`
    if (role === 'tool' && callId === undefined)
      throw invalidField(`${field}.tool_call_id`, 'required', 'tool_call_id is required for the role `tool`.')
    if (role !== 'tool' && callId !== undefined)
      throw invalidField(`${field}.tool_call_id`, 'role', 'tool_call_id is only allowed for the role `tool`.')
    if (toolCalls !== undefined && role !== 'assistant')
      throw invalidField(
        `${field}.tool_calls`,
        'role',
        'tool_calls is only allowed for the role `assistant`.',
      )
    for (const { id } of toolCalls ?? []) called.add(id)
    if (content === undefined && toolCalls !== undefined) return { role: 'assistant', content: '', toolCalls }
    if (content === undefined)
      throw invalidField(`${field}.content`, 'required', `${field}.content is required`)
    const text = textOf(content, `${field}.content`)
    if (role === 'developer') return { role: 'system', content: text }
    if (role === 'tool' && called.has(callId!)) return { role, content: text, toolCallId: callId }
    if (role === 'tool') return { role: 'user', content: `Result of the tool call ${callId}:\n${text}` }
    return { role, content: text, ...(toolCalls !== undefined && { toolCalls }) }
  })
}
