// Chat completions of the fake model server, plain and streamed, with the faults and variants of the script.
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorBody, json, rejectedField, reset, sendError, wordsOf } from './responses.ts'
import type { Offer, RecordedRequest, Script } from './script.ts'

export async function complete(
  response: ServerResponse,
  recorded: RecordedRequest,
  script: Script,
  offer: Offer,
): Promise<void> {
  const { body } = recorded
  const problem = findProblem(body, script, offer)
  if (problem !== null) return sendError(response, recorded, problem.status, problem.body)
  const written = write(body, script)
  const head = {
    id: `chatcmpl-${randomBytes(15).toString('base64url')}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    service_tier: 'default',
    system_fingerprint: 'fp_0123456789',
  }
  if (body.stream !== true || script.variants?.includes('not_streamed')) {
    const message = { role: 'assistant', content: written.pieces.join(''), refusal: null, annotations: [] }
    return json(response, 200, {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: written.finishReason }],
      usage: written.usage,
    })
  }
  await stream(response, recorded, script, { ...written, head: { ...head, object: 'chat.completion.chunk' } })
}

/** The error for an invalid request, as OpenAI answers it; null for a valid one. */
function findProblem(body: any, script: Script, offer: Offer): { status: number; body: object } | null {
  const invalid = (
    message: string,
    param: string,
    code: string | null = null,
  ): { status: number; body: object } => ({
    status: 400,
    body: errorBody(message, 'invalid_request_error', code, param),
  })
  if (typeof body?.model !== 'string') return invalid('you must provide a model parameter', 'model')
  if (!offer.models.includes(body.model))
    return {
      status: 404,
      body: errorBody(
        `The model \`${body.model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        'model_not_found',
      ),
    }
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    return invalid(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, " +
        'but got an empty array instead.',
      'messages',
      'empty_array',
    )
  if (body.stream_options !== undefined && body.stream !== true)
    return invalid(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      'stream_options',
    )
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined)
    return invalid(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      'max_tokens',
      'invalid_parameter_combination',
    )
  const rejected = rejectedField(body, script)
  if (rejected === undefined) return null
  const instead = rejected === 'max_tokens' ? " Use 'max_completion_tokens' instead." : ''
  return invalid(
    `Unsupported parameter: '${rejected}' is not supported with this model.${instead}`,
    rejected,
    'unsupported_parameter',
  )
}

interface Written {
  pieces: string[]
  finishReason: string
  usage: object
}

/** The answer of the script, cut where the request limits it. */
function write(body: any, script: Script): Written {
  const last = body.messages.at(-1)
  const text = script.answer ?? `I have heard: ${typeof last.content === 'string' ? last.content : ''}`
  let pieces = script.pieces ?? (script.calls === undefined ? wordsOf(text) : [])
  let finishReason = script.finishReason ?? (script.calls === undefined ? 'stop' : 'tool_calls')
  for (const stop of typeof body.stop === 'string' ? [body.stop] : (body.stop ?? [])) {
    const at = pieces.join('').indexOf(stop)
    if (at !== -1) pieces = wordsOf(pieces.join('').slice(0, at))
  }
  const most = body.max_completion_tokens ?? body.max_tokens ?? Infinity
  if (pieces.length > most) {
    pieces = pieces.slice(0, most)
    finishReason = 'length'
  }
  const usage = script.usage ?? {
    prompt_tokens: body.messages.reduce(
      (sum: number, { content }: { content: unknown }) => sum + 3 + wordsOf(String(content)).length,
      3,
    ),
    completion_tokens: pieces.length,
  }
  return {
    pieces,
    finishReason,
    usage: {
      total_tokens: usage.prompt_tokens + usage.completion_tokens,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
      ...usage,
    },
  }
}

async function stream(
  response: ServerResponse,
  recorded: RecordedRequest,
  script: Script,
  { pieces, finishReason, usage, head }: Written & { head: object },
): Promise<void> {
  const { fault, piecesPerSecond } = script
  const variants = new Set(script.variants)
  const withUsage = recorded.body.stream_options?.include_usage === true && !variants.has('no_usage')
  const usual = {
    ...head,
    ...(withUsage && { usage: variants.has('usage_in_every_chunk') ? usage : null }),
    ...(variants.has('unknown_fields') && { x_stand_in: { nested: [1, null] } }),
  }
  const chunk = (delta: object, finish: string | null = null): string =>
    event({
      ...usual,
      choices: [
        {
          index: 0,
          delta: { ...delta, ...(variants.has('unknown_fields') && { x_mood: 'fine' }) },
          logprobs: null,
          finish_reason: finish,
        },
      ],
    })
  const event = (data: unknown): string =>
    lines(
      `data:${variants.has('no_space') ? '' : ' '}${typeof data === 'string' ? data : JSON.stringify(data)}`,
    )
  const lines = (line: string): string => (variants.has('crlf') ? `${line}\r\n\r\n` : `${line}\n\n`)
  const send = async (text: string): Promise<void> => {
    if (fault?.kind === 'drip') return await drip(response, text, fault.bytesPerSecond ?? 1)
    if (variants.has('cut')) return await cut(response, text)
    if (!response.write(text)) await drained(response)
  }
  /** Sends the fault if it is due. @returns whether it ended the response. */
  const fail = async (): Promise<boolean> => {
    if (
      fault === undefined ||
      !('after' in fault || fault.kind === 'broken_json' || fault.kind === 'error') ||
      recorded.pieces < (fault.after ?? 0)
    )
      return false
    if (fault.kind === 'hang') return true
    if (fault.kind === 'reset') {
      // An immediate reset would discard the pieces in flight.
      await sleep(50)
      reset(response, recorded)
    } else {
      recorded.outcome = 'failed'
      if (fault.kind === 'broken_json')
        response.end(lines('data: {"id": "chatcmpl-1", "choices": [{"delta": {"content": "sec'))
      else if (fault.kind === 'error')
        response.end(
          event({
            error: fault.error ?? {
              message: 'The server had an error while processing your request.',
              type: 'server_error',
              param: null,
              code: null,
            },
          }) + lines('data: [DONE]'),
        )
      else response.end()
    }
    return true
  }

  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.socket?.setNoDelay(true)
  if (fault?.kind === 'endless_event') {
    await send('data: {"choices": [{"delta": {"content": "')
    while (!response.destroyed) await send('x'.repeat(65_536))
    return
  }
  if (variants.has('comments')) await send(lines(': one moment, please'))
  if (variants.has('empty_choices')) await send(event({ ...usual, choices: [], prompt_filter_results: [] }))
  if (!variants.has('no_role')) await send(chunk({ role: 'assistant', content: '', refusal: null }))
  await script.when
  for (const thought of script.thoughts ?? []) {
    await send(chunk({ reasoning_content: thought }))
    if (piecesPerSecond !== undefined) await sleep(1000 / piecesPerSecond)
  }
  if (variants.has('parts'))
    await send(
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'a secret plan' }] }] }),
    )
  if (variants.has('think_tags'))
    for (const piece of ['\n<th', 'ink>a secret', ' plan</thi', 'nk>', '\n\n'])
      await send(chunk({ content: piece }))
  const contentOf = (text: string): unknown => (variants.has('parts') ? [{ type: 'text', text }] : text)
  for (const [index, { id, name, arguments: args }] of (script.calls ?? []).entries()) {
    const halves = [args.slice(0, 4), args.slice(4)]
    await send(chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }))
    for (const half of halves) await send(chunk({ tool_calls: [{ index, function: { arguments: half } }] }))
  }
  const endless = fault?.kind === 'endless' ? (fault.piece ?? 'and so on ') : null
  for (let i = 0; endless !== null || i < pieces.length; i++) {
    if (await fail()) return
    if (piecesPerSecond !== undefined) await sleep(1000 / piecesPerSecond)
    if (response.destroyed) return
    if (variants.has('comments')) await send(lines(': still here'))
    await send(chunk({ content: contentOf(endless ?? pieces[i]) }))
    recorded.pieces++
    // Yields to the event loop.
    if (endless !== null) await new Promise((resolve) => setImmediate(resolve))
  }
  if (await fail()) return
  if (!variants.has('no_finish_reason')) await send(chunk({}, finishReason))
  for (const _ of withUsage ? (variants.has('usage_twice') ? [1, 2] : [1]) : [])
    await send(event({ ...head, choices: [], usage }))
  if (fault?.kind === 'lingering') return
  if (variants.has('no_done')) response.end()
  else response.end(lines('data: [DONE]'))
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

async function drip(response: ServerResponse, text: string, bytesPerSecond: number): Promise<void> {
  for (const byte of Buffer.from(text)) {
    if (response.destroyed) return
    response.write(Buffer.of(byte))
    await sleep(1000 / bytesPerSecond)
  }
}

async function cut(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 7) {
    response.write(bytes.subarray(at, at + 7))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
