// Records a request of a valid key for GET /requests and GET /usage.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { RequestRecorder } from '../../services/usage/recorder.ts'
import type { Principal } from '../../services/users/authentication.ts'
import { clientRequestId } from './request-headers.ts'

/** The status of a request whose client left before the answer, as in the logs of proxies. */
const clientLeft = 499

export function recordAtEnd(
  recorder: RequestRecorder,
  info: OperationInfo,
  { userId, keyId }: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  // Unlike onResponse, `close` also comes when the client leaves.
  reply.raw.once('close', () => {
    recorder.record({
      userId,
      keyId,
      operation: info.id,
      method: request.method,
      status: reply.raw.headersSent ? reply.statusCode : clientLeft,
      errorCode: request.answeredError?.code ?? null,
      durationMs: Math.round(reply.elapsedTime),
      requestId: request.id,
      clientRequestId: clientRequestId(request) ?? null,
      downloadedBytes: downloadedBytes(info, request, reply),
    })
  })
}

/** The bytes of a binary answer that the client has got completely. */
function downloadedBytes(
  { replies }: OperationInfo,
  { method }: FastifyRequest,
  reply: FastifyReply,
): number {
  const isDownload = method === 'GET' && replies[reply.statusCode]?.binary === true
  return isDownload && reply.raw.writableFinished ? Number(reply.getHeader('content-length')) : 0
}
