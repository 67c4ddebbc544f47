// The content of messages in requests: a text or a list of parts, whose texts become one; and the roles of a
// conversation, which become those that every model knows.
import type { components } from '../../../generated/types.ts'
import { invalidField } from '../../../infra/errors.ts'
import type { ChatMessage, Image } from '../providers/providers.ts'
import type { PartsReader } from './message-parts.ts'

type MessageContent = components['schemas']['MessageContent']
type ConversationMessage = NonNullable<components['schemas']['ChatRequest']['messages']>[number]

/** As `maxLength` of MessageContent. */
const maxLength = 200_000

/** The text of a message. Throws 400 for parts that together are empty or longer than a text may be. */
function checkText(text: string, field: string): string {
  // As the validators count: in code points.
  if (text.length > maxLength && [...text].length > maxLength)
    throw invalidField(field, 'maxLength', `The parts of ${field} must have at most ${maxLength} characters.`)
  if (!/\S/.test(text))
    throw invalidField(field, 'pattern', `The parts of ${field} must have a character other than whitespace.`)
  return text
}

/** The text and the images of a message. Throws 400 as `checkText`, and what PartsReader throws. */
export async function readContent(
  content: MessageContent,
  field: string,
  reader: PartsReader,
): Promise<{ content: string; images?: Image[] }> {
  if (typeof content === 'string') return { content }
  const { text, images } = await reader.read(content, field)
  return { content: checkText(text, field), ...(images.length > 0 && { images }) }
}

/** The content of a message that is stored: its images are stored files, which the reader has opened. */
export async function readStoredContent(
  content: MessageContent,
  field: string,
  reader: PartsReader,
): Promise<{ content: string; images?: Image[]; imageFileIds: string[] }> {
  const read = await readContent(content, field, reader)
  const imageFileIds = (read.images ?? []).map((image) => {
    if ('fileId' in image) return image.fileId
    throw invalidField(field, 'file_id', 'A message that is stored has images with `file_id`, not `url`.')
  })
  return { ...read, imageFileIds }
}

/**
 * The messages of a request, with the roles that every model knows. The result of a call that no message has
 * becomes a text of the user, because models refuse it. The reader has opened the files.
 */
export async function conversationMessages(
  messages: ConversationMessage[],
  reader: PartsReader,
): Promise<ChatMessage[]> {
  const called = new Set<string>()
  const read: ChatMessage[] = []
  for (const [i, message] of messages.entries()) read.push(await messageOf(message, `messages[${i}]`))
  return read

  async function messageOf(
    { role, content, tool_calls: toolCalls, tool_call_id: callId }: ConversationMessage,
    field: string,
  ): Promise<ChatMessage> {
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
    requireUserParts(role, content, `${field}.content`)
    const { content: text, images } = await readContent(content, `${field}.content`, reader)
    if (role === 'developer') return { role: 'system', content: text }
    if (role === 'tool' && called.has(callId!)) return { role, content: text, toolCallId: callId }
    if (role === 'tool') return { role: 'user', content: `Result of the tool call ${callId}:\n${text}` }
    return {
      role,
      content: text,
      ...(images !== undefined && { images }),
      ...(toolCalls !== undefined && { toolCalls }),
    }
  }
}

/** Throws 400 for images and documents in a message of another role. */
export function requireUserParts(
  role: string,
  content: string | Array<{ image_url?: object; file?: object; type: string }> | null | undefined,
  field: string,
): void {
  if (role === 'user' || !Array.isArray(content)) return
  const i = content.findIndex(
    ({ type, image_url: image, file }) =>
      type === 'image_url' || type === 'file' || image !== undefined || file !== undefined,
  )
  if (i !== -1)
    throw invalidField(
      `${field}[${i}].type`,
      'role',
      'Only messages of the `user` have images and documents.',
    )
}
