// The published contract, as it was generated: read once, at the first request for it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../generated')
let json: Record<string, unknown> | undefined
let yaml: string | undefined

export function contractAsJson (): Record<string, unknown> {
  json ??= JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8')) as Record<string, unknown>
  return json
}

export function contractAsYaml (): string {
  yaml ??= readFileSync(join(folder, 'openapi.yaml'), 'utf8')
  return yaml
}
