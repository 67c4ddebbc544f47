// What programs look for at the root of a site: links to the documentation for people with curl, for language
// models (llms.txt, see llmstxt.org) and for search engines (robots.txt, RFC 9309).
import { brand, defaultName } from '../../infra/html/brand.ts'
import { version } from '../../infra/version.ts'
import { guideSummaries } from './guides.ts'

/** The answer to `GET /` for programs. */
export function rootLinks(url: string): string {
  const links = {
    name: brand().name ?? defaultName,
    version,
    api: `${url}/v1`,
    openapi: `${url}/openapi.json`,
    docs: `${url}/docs`,
    guides: `${url}/docs/guides`,
    llms: `${url}/llms.txt`,
    health: `${url}/healthz`,
  }
  return `${JSON.stringify(links, null, 2)}\n`
}

/** The documentation as links to plain text, in Markdown. */
export async function llmsText(url: string): Promise<string> {
  const guides = (await guideSummaries()).map(
    ({ name, title, summary }) => `- [${title}](${url}/docs/guides/${name}.md): ${summary}`,
  )
  return `# ${brand().name ?? defaultName}

> A versioned HTTP/JSON API: users and API keys, projects, files, chat with knowledge bases, payments, events.

## Guides

${guides.join('\n')}

## Reference

- [OpenAPI](${url}/openapi.yaml): all operations, with their schemas and errors
- [Errors](${url}/docs/errors): the codes and constraints of errors
- [Events](${url}/docs/events): the events and their payloads
- [TypeScript client](${url}/docs/client.tgz): an npm package
- [Python client](${url}/docs/client-python.tar.gz): a package for pip
`
}

/** Search engines may index the documentation only. */
export const robotsText = 'User-agent: *\nAllow: /docs\nAllow: /llms.txt\nDisallow: /\n'
