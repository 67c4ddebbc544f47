// The published OpenAPI document. The server reads it once at the start, so the document matches the running
// code even after a build overwrites the file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../generated')
const texts = {
  json: readFileSync(join(folder, 'openapi.json')),
  yaml: readFileSync(join(folder, 'openapi.yaml')),
}
/** The first server of the document and of its operations, in JSON and YAML. The group is its path. */
const firstServer = /(?<=^\s*(?:"url"|- url): "?)http:\/\/localhost:3000([^"\n]*)/gm

/** @param origin the URL of this server without a path; empty for URLs relative to the document. */
function withServer(text: Buffer, origin: string): string {
  return text.toString().replace(firstServer, (_, path: string) => `${origin}${path}` || '/')
}

const made = new Map<string, { json?: Record<string, unknown>; yaml?: string }>()

function madeFor(origin: string): { json?: Record<string, unknown>; yaml?: string } {
  if (!made.has(origin)) made.set(origin, {})
  return made.get(origin)!
}

export function openapiJson(origin: string): Record<string, unknown> {
  const documents = madeFor(origin)
  documents.json ??= JSON.parse(withServer(texts.json, origin)) as Record<string, unknown>
  return documents.json
}

export function openapiYaml(origin: string): string {
  const documents = madeFor(origin)
  documents.yaml ??= withServer(texts.yaml, origin)
  return documents.yaml
}
