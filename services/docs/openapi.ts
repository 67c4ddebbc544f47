// The published OpenAPI document. The server reads it once at the start, so the document matches the running
// code even after a build overwrites the file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const text = readFileSync(join(import.meta.dirname, '../../generated/openapi.json'))
/** The first server of the document and of its operations. The group is its path. */
const firstServer = /(?<=^\s*"url": ")http:\/\/localhost:3000([^"\n]*)/gm

const made = new Map<string, { json: Record<string, unknown>; yaml?: string }>()

/** @param origin the URL of this server without a path; empty for URLs relative to the document. */
function madeFor(origin: string): { json: Record<string, unknown>; yaml?: string } {
  let documents = made.get(origin)
  if (documents === undefined) {
    const own = text.toString().replace(firstServer, (_, path: string) => `${origin}${path}` || '/')
    documents = { json: JSON.parse(own) as Record<string, unknown> }
    made.set(origin, documents)
  }
  return documents
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
