// The responses of the fake model server that completions and embeddings share.
import type { ServerResponse } from 'node:http'
import type { RecordedRequest, Script } from './script.ts'

export function errorBody(
  message: string,
  type: string,
  code: string | null = null,
  param: string | null = null,
): object {
  return { error: { message, type, param, code } }
}

export function sendError(
  response: ServerResponse,
  recorded: RecordedRequest,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  recorded.outcome = 'failed'
  if (typeof body === 'string') response.writeHead(status, headers).end(body)
  else json(response, status, body, headers)
}

export function reset(response: ServerResponse, recorded: RecordedRequest): void {
  recorded.outcome = 'failed'
  response.socket?.resetAndDestroy()
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Each word with the blanks before it. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? []
}

/** The field of the request that the script rejects. */
export function rejectedField(body: Record<string, unknown>, { rejects = [] }: Script): string | undefined {
  return rejects
    .map((rejected) => rejected.split('='))
    .find(
      ([field, value]) => body[field] !== undefined && (value === undefined || body[field] === value),
    )?.[0]
}
