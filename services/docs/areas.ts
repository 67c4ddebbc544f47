// The areas of the API reference: the tag groups of the contract. Each has a page and a document of its own,
// so that a browser reads only the part that it shows.
import { openapiJson } from './openapi.ts'

type Json = any

export interface ReferenceOperation {
  method: string
  /** From the root of the server. */
  path: string
  summary: string
  description: string
  href: string
}

export interface Area {
  name: string
  href: string
  /** The path of its part of the document. */
  documentPath: string
  tags: { name: string; title: string; operations: ReferenceOperation[] }[]
}

/** The name of the reference in the addresses that Scalar makes. */
export const referenceSlug = 'platform-api'

let made: Area[] | undefined

export function areas(): Area[] {
  made ??= areasOf(openapiJson(''))
  return made
}

function areasOf(document: Json): Area[] {
  const titles = new Map<string, string>(
    document.tags.map((tag: Json) => [tag.name, tag['x-displayName'] ?? tag.name]),
  )
  return document['x-tagGroups'].map(({ name, tags }: { name: string; tags: string[] }): Area => {
    const slug = name.toLowerCase().replaceAll(' ', '-')
    const href = `/docs/reference/${slug}`
    return {
      name,
      href,
      documentPath: `${href}/openapi.json`,
      tags: tags.map((tag) => ({
        name: tag,
        title: titles.get(tag)!,
        operations: operationsOf(document, tag).map(
          ({ path, method, servers, summary, description = '' }) => ({
            method: method.toUpperCase(),
            path: (servers ?? document.servers)[0].url.replace(/\/$/, '') + path,
            summary,
            description,
            href: `${href}#${referenceSlug}/tag/${tag}/${method.toUpperCase()}${path}`,
          }),
        ),
      })),
    }
  })
}

/** Whether the reference shows an operation. PATCH does the same as PUT, whose description says so. */
export const isShown = (operation: Json, tags: ReadonlySet<string>): boolean =>
  tags.has(operation.tags?.[0]) && operation['x-same-as'] === undefined

function operationsOf(document: Json, tag: string): Json[] {
  const tags = new Set([tag])
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item)
      .filter(([, operation]) => isShown(operation, tags))
      .map(([method, operation]) => ({ ...operation, path, method })),
  )
}
