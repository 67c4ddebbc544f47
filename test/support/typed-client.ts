// The published client as tests use it: every answer that it gets is held against the spec, events of streams too.
import {
  createPlatformClient,
  PlatformError,
  type ClientOptions,
  type PlatformClient,
} from '../../generated/client/index.js'
import { operations, type OperationId } from '../../generated/operations.ts'
import { holdAgainstSpec, operationAt } from './client.ts'
import { createEventParser, parseEventData } from './event-stream.ts'

/** @param options among them a `fetch` between the client and the server; what it answers is held against the spec too. */
export function typedClient(url: string, key: string, options: Partial<ClientOptions> = {}): PlatformClient {
  const send = options.fetch ?? ((request: Request) => fetch(request))
  return createPlatformClient({
    baseUrl: url,
    apiKey: key,
    ...options,
    fetch: async (request) => await heldAgainstSpec(request, await send(request)),
  })
}

/** What a call is refused with. @throws when it succeeds, or fails otherwise. */
export async function refusalOf(call: Promise<unknown>): Promise<PlatformError> {
  const outcome = await call.then(
    (data) => new Error(`it was answered: ${JSON.stringify(data)}`),
    (error: unknown) => error,
  )
  if (!(outcome instanceof PlatformError)) throw outcome
  return outcome
}

/** A clock that counts the waits in milliseconds and waits for nothing. */
export function impatientClock(waits: number[] = []): NonNullable<ClientOptions['clock']> {
  return {
    now: () => Date.now(),
    random: () => 0.5,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted()
      waits.push(milliseconds)
    },
  }
}

async function heldAgainstSpec(request: Request, response: Response): Promise<Response> {
  const { status, headers } = response
  const id = operationAt(request.method, new URL(request.url).pathname)
  if (id === null)
    throw new Error(`the client asked for ${request.method} ${request.url}, which is no operation`)
  const { binary, contentType, events } = operations[id].replies[status] ?? {}
  if (events !== undefined) {
    holdAgainstSpec(id, status, headers, undefined)
    return new Response(response.body!.pipeThrough(heldEvents(id)), { status, headers })
  }
  if (binary === true) {
    holdAgainstSpec(id, status, headers, undefined)
    return response
  }
  const text = await response.clone().text()
  holdAgainstSpec(
    id,
    status,
    headers,
    text === '' ? undefined : contentType === 'application/json' ? JSON.parse(text) : text,
  )
  return response
}

function heldEvents(id: OperationId): TransformStream<Uint8Array, Uint8Array> {
  const parser = createEventParser()
  return new TransformStream({
    transform(chunk, controller) {
      for (const { event, data, comment } of parser.write(chunk))
        if (comment === undefined) parseEventData(id, event, data)
      controller.enqueue(chunk)
    },
  })
}
