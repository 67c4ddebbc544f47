// The published OpenAPI document. The server reads it once at the start, so the document matches the running
// code even after a build overwrites the file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

type Json = any

const text = readFileSync(join(import.meta.dirname, '../../generated/openapi.json'))
/** The first server of the document and of its operations is this one, as development knows it. */
const development = 'http://localhost:3000'

const made = new Map<string, { json: Record<string, unknown>; yaml?: string }>()

/** @param origin the URL of this server without a path; empty for URLs relative to the document. */
function madeFor(origin: string): { json: Record<string, unknown>; yaml?: string } {
  let documents = made.get(origin)
  if (documents === undefined) {
    documents = { json: withServers(JSON.parse(text.toString()), origin) }
    made.set(origin, documents)
  }
  return documents
}

function withServers(document: Json, origin: string): Json {
  const items = Object.values<Json>(document.paths)
  for (const { servers } of [document, ...items, ...items.flatMap((item) => Object.values<Json>(item))])
    if (servers !== undefined) servers[0].url = servers[0].url.replace(development, origin) || '/'
  return document
}

export function openapiJson(origin: string): Record<string, unknown> {
  return madeFor(origin).json
}

/** Converted when it is first asked for: that takes a third of a second. */
export async function openapiYaml(origin: string): Promise<string> {
  const documents = madeFor(origin)
  if (documents.yaml === undefined) {
    const { stringify } = await import('yaml')
    documents.yaml = stringify(documents.json, { aliasDuplicateObjects: false, lineWidth: 120 })
  }
  return documents.yaml
}
