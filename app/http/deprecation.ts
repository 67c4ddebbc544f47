// Headers of a deprecated operation, on errors too: Deprecation (RFC 9745), Sunset (RFC 8594) and Link.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'

type Done = (error?: Error) => void

/** The hook of a deprecated operation; none for other operations. */
export function deprecationHooks(
  info: OperationInfo,
  publicUrl: () => string,
): Array<(request: FastifyRequest, reply: FastifyReply, done: Done) => void> {
  if (info.deprecation === undefined) return []
  const { since, sunset, successor } = info.deprecation
  const deprecation = `@${Date.parse(since) / 1000}`
  const end = new Date(sunset).toUTCString()
  return [
    (request, reply, done) => {
      const docs = `${publicUrl()}/docs`
      const links = [
        `<${docs}>; rel="deprecation"; type="text/html"`,
        `<${docs}>; rel="sunset"; type="text/html"`,
      ]
      if (successor !== null) {
        const path = fillPath(successor, request.params as Record<string, string>)
        links.push(`<${publicUrl()}${path}>; rel="successor-version"`)
      }
      reply.headers({ deprecation, sunset: end, link: links.join(', ') })
      done()
    },
  ]
}

/** Appends a link to the Link header that the response may already have. */
export function appendLink(reply: FastifyReply, link: string): string {
  const present = reply.getHeader('link')
  return present === undefined ? link : `${link}, ${String(present)}`
}

function fillPath(path: string, params: Record<string, string>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(params[name]))
}
