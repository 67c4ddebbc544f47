// A request of the Responses API as the same request for a chat completion.
import type { components } from '../../../generated/types.ts'
import { ApiError, invalidField } from '../../../infra/errors.ts'
import type { CompletionRequest } from './chat-completions.ts'

type Schemas = components['schemas']
type ResponseRequest = Schemas['ResponseRequest']
type InputItem = Schemas['ResponseInputItem']
type InputPart = Schemas['ResponseInputPart']
type Part = Schemas['MessagePart']
type Message = Schemas['ChatCompletionRequestMessage']

/** Throws 400 for items that lack a field of their type. */
export function completionRequestOf(body: ResponseRequest): CompletionRequest {
  const {
    input,
    instructions,
    max_output_tokens,
    reasoning,
    text,
    tools,
    tool_choice: choice,
    ...rest
  } = body
  const { model, stream, temperature, top_p, knowledge_base_ids, project_id, filters } = rest
  return {
    model,
    messages: [
      ...(instructions == null ? [] : [{ role: 'system' as const, content: instructions }]),
      ...(typeof input === 'string' ? [{ role: 'user' as const, content: input }] : messagesOf(input)),
    ],
    stream,
    temperature,
    top_p,
    max_completion_tokens: max_output_tokens,
    reasoning_effort: reasoning?.effort,
    response_format: formatOf(text?.format),
    ...(tools !== undefined && tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(choice !== undefined && { tool_choice: choiceOf(choice) }),
    ...(rest.parallel_tool_calls != null && { parallel_tool_calls: rest.parallel_tool_calls }),
    knowledge_base_ids,
    project_id,
    filters,
  }
}

/** The contents of the items of all types. */
export function contentsOf({ input }: ResponseRequest): Array<Message['content']> {
  if (typeof input === 'string') return []
  return input.flatMap(({ content = '', output = '' }) => [contentOf(content), contentOf(output)])
}

/** The names that fields of a chat completion have in a response. */
const names: Array<[RegExp, string]> = [
  [/^max_(completion_)?tokens$/, 'max_output_tokens'],
  [/^response_format\.json_schema\b/, 'text.format'],
  [/^response_format$/, 'text.format'],
  [/^reasoning_effort$/, 'reasoning.effort'],
  [/^messages?\b.*$/, 'input'],
]

/** The error of the chat completion of a response, with the names of the fields of the response. */
export function withResponseNames(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  const rename = (field: string): string => names.reduce((name, [of, to]) => name.replace(of, to), field)
  const { field, errors } = error.details
  if (field !== undefined) error.details.field = rename(field)
  if (errors !== undefined)
    error.details.errors = errors.map((problem) => ({ ...problem, field: rename(problem.field) }))
  return error
}

/** A call belongs to the message of the assistant before it, or to one of its own. */
function messagesOf(items: InputItem[]): Message[] {
  const messages: Message[] = []
  for (const [i, item] of items.entries()) {
    const { type = 'message', role, content, call_id, name, arguments: args, output } = item
    const required = <Value>(field: string, value: Value | undefined): Value => {
      if (value === undefined)
        throw invalidField(`input[${i}].${field}`, 'required', `input[${i}].${field} is required.`)
      return value
    }
    if (type === 'message') {
      messages.push({ role: required('role', role), content: contentOf(required('content', content)) })
    } else if (type === 'function_call_output') {
      const result = contentOf(required('output', output))
      messages.push({ role: 'tool', content: result, tool_call_id: required('call_id', call_id) })
    } else {
      const call = {
        id: required('call_id', call_id),
        type: 'function' as const,
        function: { name: required('name', name), arguments: required('arguments', args) },
      }
      const last = messages.at(-1)
      if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call]
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    }
  }
  return messages
}

function contentOf(content: NonNullable<InputItem['content']>): Message['content'] {
  if (typeof content === 'string') return content
  if (content.length === 0) return ''
  return content.map(partOf)
}

/** A part has the fields that do not belong to its type, too, so that they are refused. */
function partOf({ type, text, refusal, image_url: url, file_id: id, file_data, filename }: InputPart): Part {
  const image = given({ url, file_id: type === 'input_image' ? id : null })
  const file = given({ file_id: type === 'input_image' ? null : id, file_data, filename })
  const kind = type === 'input_image' ? 'image_url' : type === 'input_file' ? 'file' : 'text'
  return {
    type: kind,
    ...(kind === 'text' ? { text: text ?? refusal ?? '' } : given({ text })),
    ...given({ image_url: image, file }),
  }
}

/** The fields that are given; null if there is none. */
function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } | null {
  const entries = Object.entries(fields).filter(([, value]) => value != null)
  return entries.length === 0 ? null : (Object.fromEntries(entries) as never)
}

function toolOf({
  name,
  description,
  parameters,
  strict,
}: NonNullable<ResponseRequest['tools']>[number]): Schemas['ChatCompletionTool'] {
  const described = {
    ...(description != null && { description }),
    ...(parameters != null && { parameters }),
    ...(strict != null && { strict }),
  }
  return { type: 'function', function: { name, ...described } }
}

function choiceOf(choice: NonNullable<ResponseRequest['tool_choice']>): CompletionRequest['tool_choice'] {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } }
}

function formatOf(
  format: NonNullable<ResponseRequest['text']>['format'],
): CompletionRequest['response_format'] {
  if (format === undefined) return undefined
  const { type, name, description, schema, strict } = format
  if (type !== 'json_schema') return { type }
  for (const [field, value] of Object.entries({ name, schema }))
    if (value === undefined)
      throw invalidField(`text.format.${field}`, 'required', `text.format.${field} is required.`)
  return { type, json_schema: { name: name!, description, schema, strict } }
}
