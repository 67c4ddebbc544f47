// The published OpenAPI document. The server reads it once at the start, so the document matches the running
// code even after a build overwrites the file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

type Json = any

const text = readFileSync(join(import.meta.dirname, '../../generated/openapi.json'))
/** The first server of the document and of its operations is this one, as development knows it. */
const development = 'http://localhost:3000'

/** Stands for the origin in the YAML, which is converted once for all origins. */
const anyOrigin = 'http://origin.invalid'

const made = new Map<string, Record<string, unknown>>()
let yaml: string | undefined

function withServers(document: Json, origin: string): Json {
  const items = Object.values<Json>(document.paths)
  for (const { servers } of [document, ...items, ...items.flatMap((item) => Object.values<Json>(item))])
    if (servers !== undefined) servers[0].url = servers[0].url.replace(development, origin) || '/'
  return document
}

/** @param origin the URL of this server without a path; empty for URLs relative to the document. */
export function openapiJson(origin: string): Record<string, unknown> {
  let document = made.get(origin)
  if (document === undefined) {
    document = withServers(JSON.parse(text.toString()), origin) as Record<string, unknown>
    made.set(origin, document)
  }
  return document
}

/** Converted when it is first requested: that takes a third of a second. */
export async function openapiYaml(origin: string): Promise<string> {
  if (yaml === undefined) {
    const { stringify } = await import('yaml')
    const document = withServers(JSON.parse(text.toString()), anyOrigin)
    yaml = stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 })
  }
  return yaml.replace(new RegExp(`${anyOrigin}(.*)`, 'g'), (_, path: string) => origin + path || '/')
}
