// What every answer of a deprecated operation says, errors too: since when it is (RFC 9745), when it ends (RFC 8594), and what comes after it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'

type Done = (error?: Error) => void

/** The hook for an operation that is deprecated, or none. */
export function sayDeprecated(
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
      if (successor !== null)
        links.push(
          `<${publicUrl()}${filled(successor, request.params as Record<string, string>)}>; rel="successor-version"`,
        )
      reply.headers({ deprecation, sunset: end, link: links.join(', ') })
      done()
    },
  ]
}

/** A Link beside those that the answer has already. */
export function linkBeside(reply: FastifyReply, link: string): string {
  const there = reply.getHeader('link')
  return there === undefined ? link : `${link}, ${String(there)}`
}

function filled(path: string, params: Record<string, string>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(params[name]))
}
