// The servers that a document names.

export interface Server {
  url: string
  description?: string
  variables?: Record<string, { default?: string }>
}

/** The path of the first server, without a slash at its end. A relative server starts at the root. */
export function serverPath(servers: Server[] | undefined): string {
  const { url, variables = {} } = servers?.[0] ?? { url: '/' }
  const filled = url.replace(/\{([^}]+)\}/g, (_, name: string) => variables[name]?.default ?? name)
  const [path] = filled.replace(/^([a-z][\w+.-]*:)?\/\/[^/?#]*/i, '').split(/[?#]/)
  return new URL(path.replace(/^\/+/, ''), 'http://server/').pathname.replace(/\/$/, '')
}
