// The JSON body parser: strict JSON in UTF-8 with one Content-Type.
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { unsupportedMediaType } from '../../infra/errors.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'
import { inTurns, takeTurn } from './loop-turns.ts'
import { contentLength, hasBody } from './request-headers.ts'
import { hasTwoContentTypes, isStreamed } from './validation.ts'

/** A larger body takes about a millisecond to parse. */
const largeBytes = 64 * 1024

export function addJsonParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const parse = (): void => {
      try {
        requireOneUtf8Type(request, 'application/json')
        // A handler that verifies a signature needs the bytes as they were sent.
        const { raw: isRaw, maxValues } = request.routeOptions.config.operation?.body ?? {}
        done(null, isRaw === true ? body : parseStrictJson(body as Buffer, maxValues))
      } catch (error) {
        done(error as Error)
      }
    }
    if (body.length > largeBytes) takeTurn(request, parse)
    else parse()
  })
}

/** A preParsing hook for operations with a body. A body without Content-Length may be large. */
export function receiveInTurns(
  request: FastifyRequest,
  _reply: FastifyReply,
  body: RequestPayload,
  done: (error: null, body?: RequestPayload) => void,
): void {
  const { operation } = request.routeOptions.config
  const isLarge = hasBody(request.raw) && (contentLength(request) ?? Infinity) > largeBytes
  if (isLarge && !isStreamed(operation!, request)) done(null, inTurns(request, body as Readable))
  else done(null, body)
}

/** Throws 415 for two Content-Type headers, or for a charset other than UTF-8. */
export function requireOneUtf8Type(request: FastifyRequest, type: string): void {
  if (hasTwoContentTypes(request)) throw unsupportedMediaType([`${type}, in one Content-Type header`])
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
    throw unsupportedMediaType([`${type} in UTF-8`])
}
