// Compiles the schemas of answers into fast-json-stringify's plain code, which writes what they declare and leaves out
// the rest.
import fastJson from 'fast-json-stringify'
import { GenerateError } from './error.ts'
import { plain } from './schemas.ts'

type Json = any

export function compileSerializers(document: Json, responses: Map<string, Json>): string {
  // fast-json-stringify reads draft 7 definitions; the vocabulary used here is the same in both.
  const components = document.components?.schemas ?? {}
  const entries = [...responses].map(([name, schema]) => {
    const used = new Set<string>()
    const inline = (node: Json): Json =>
      plain(node, (component, rest) => {
        used.add(component)
        return `spec#/$defs/${component}${rest}`
      })
    const main = inline(schema)
    // Only what this schema reaches: it is copied and walked for each serializer.
    const $defs: Record<string, Json> = {}
    for (const component of used) $defs[component] = inline(components[component])
    const code = serializer(name, main, $defs)
    return `  get ${name} () { return define(this, '${name}', (module) => {${code.trim()}\n  return module.exports }) }`
  })
  return `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)

// Built on first use: a start pays only for what it serves.
const define = (target, name, build) => {
  const value = build({ exports: {} })
  Object.defineProperty(target, name, { value })
  return value
}
export default {
${entries.join(',\n')},
}
`
}

function serializer(name: string, schema: Json, $defs: Json): string {
  try {
    return fastJson(schema, {
      mode: 'standalone',
      schema: { spec: { $id: 'spec', $defs } },
    } as Json) as unknown as string
  } catch (error) {
    throw new GenerateError(
      `The schema of the answer ${name} cannot be serialized: ${(error as Error).message}`,
      { cause: error },
    )
  }
}
