// The servers of single operations.
import { serverPath, type Server } from '@platform-api/openapi/servers.ts'
import { declaredOperations } from './implied-responses.ts'

type Json = any

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
