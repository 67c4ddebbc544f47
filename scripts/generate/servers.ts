// The servers of the document and of single operations.
import { declaredOperations } from './implied-responses.ts'

type Json = any

interface Server {
  url: string
  description?: string
  variables?: Record<string, { default: string }>
}

/** The path of the first server, without a slash at its end. */
export function serverPath(servers: Server[] | undefined): string {
  const { url, variables = {} } = servers?.[0] ?? { url: '/' }
  const filled = url.replace(/\{([^}]+)\}/g, (_, name: string) => variables[name]?.default ?? name)
  return new URL(filled, 'http://server').pathname.replace(/\/$/, '')
}

/**
 * An operation outside of the document's base path names its server by a path, such as `/`. It gets the
 * absolute URLs of the document's servers with that path. Changes `document`.
 */
export function addAbsoluteServers(document: Json): void {
  const servers: Server[] = document.servers ?? []
  if (servers.length === 0 || servers.some(({ url }) => url.startsWith('/'))) return
  for (const { operation } of declaredOperations(document)) {
    if (operation.servers === undefined) continue
    const path = serverPath(operation.servers)
    operation.servers = servers.map((server) => ({ ...server, url: `${originOf(server.url)}${path}` }))
  }
}

const originOf = (url: string): string => /^\w+:\/\/[^/]+/.exec(url)![0]
