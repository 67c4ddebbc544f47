// The published OpenAPI document. The server reads it once at the start, so the document matches the running
// code even after a build overwrites the file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../generated')
const texts = {
  json: readFileSync(join(folder, 'openapi.json')),
  yaml: readFileSync(join(folder, 'openapi.yaml')),
}
let json: Record<string, unknown> | undefined
let yaml: string | undefined

export function openapiJson(): Record<string, unknown> {
  json ??= JSON.parse(texts.json.toString()) as Record<string, unknown>
  return json
}

export function openapiYaml(): string {
  yaml ??= texts.yaml.toString()
  return yaml
}
