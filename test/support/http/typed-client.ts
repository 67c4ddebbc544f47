// The published client for tests. It asserts that every answer and stream event matches the spec.
import {
  createPlatformClient,
  PlatformError,
  type ClientOptions,
  type PlatformClient,
} from '../../../generated/client/index.js'
import { operations, type OperationId } from '../../../generated/operations.ts'
import { operationAt, assertMatchesSpec } from './client.ts'
import { createEventParser, parseEventData } from './event-stream.ts'

/** @param options may contain a `fetch`; its answers are asserted too. */
export function typedClient(url: string, key: string, options: Partial<ClientOptions> = {}): PlatformClient {
  const fetchRequest = options.fetch ?? ((request: Request) => fetch(request))
  return createPlatformClient({
    baseUrl: url,
    apiKey: key,
    ...options,
    fetch: async (request) => await assertResponseMatchesSpec(request, await fetchRequest(request)),
  })
}

/** The error that the call fails with. @throws when it succeeds or fails with another error. */
export async function apiErrorOf(call: Promise<unknown>): Promise<PlatformError> {
  const outcome = await call.then(
    (data) => new Error(`expected an error, got: ${JSON.stringify(data)}`),
    (error: unknown) => error,
  )
  if (!(outcome instanceof PlatformError)) throw outcome
  return outcome
}

/** A clock that records the requested waits in milliseconds and does not wait. */
export function instantClock(waits: number[] = []): NonNullable<ClientOptions['clock']> {
  return {
    now: () => Date.now(),
    random: () => 0.5,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted()
      waits.push(milliseconds)
    },
  }
}

async function assertResponseMatchesSpec(request: Request, response: Response): Promise<Response> {
  const { status, headers } = response
  const id = operationAt(request.method, new URL(request.url).pathname)
  if (id === null)
    throw new Error(`the client asked for ${request.method} ${request.url}, which is not an operation`)
  const { binary, contentType, events } = operations[id].replies[status] ?? {}
  if (events !== undefined) {
    assertMatchesSpec(id, status, headers, undefined)
    return new Response(response.body!.pipeThrough(eventAssertions(id)), { status, headers })
  }
  if (binary === true) {
    assertMatchesSpec(id, status, headers, undefined)
    return response
  }
  const text = await response.clone().text()
  assertMatchesSpec(
    id,
    status,
    headers,
    text === '' ? undefined : contentType === 'application/json' ? JSON.parse(text) : text,
  )
  return response
}

function eventAssertions(id: OperationId): TransformStream<Uint8Array, Uint8Array> {
  const parser = createEventParser()
  return new TransformStream({
    transform(chunk, controller) {
      for (const { event, data, comment } of parser.write(chunk))
        if (comment === undefined) parseEventData(id, event, data)
      controller.enqueue(chunk)
    },
  })
}
