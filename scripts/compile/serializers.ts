// Compiles the response schemas with fast-json-stringify. A serializer omits undeclared fields. The code
// depends on the schemas alone, not on what the process has compiled before.
import fastJson from 'fast-json-stringify'
import { GenerateError } from '../generate/error.ts'
import type { Schemas } from './schemas.ts'

type Json = any

export function compileSerializers({ components, responses, serialized }: Schemas): string {
  const entries = Object.entries(responses).map(([name, schema]) => {
    const used = new Set<string>()
    /** The schema with references into `$defs`. fast-json-stringify expects draft 7 of JSON Schema. */
    const inline = (schema: Json): Json =>
      JSON.parse(
        JSON.stringify(schema).replace(/"\$ref":"(spec:([^"#]+))#?([^"]*)"/g, (_, id, component, rest) => {
          used.add(id)
          return `"$ref":"spec#/$defs/${component}${rest}"`
        }),
      )
    const main = inline(serialized[name] ?? schema)
    // Only the components that this schema uses, because each serializer copies them.
    const $defs: Record<string, Json> = {}
    for (const id of used) $defs[id.slice('spec:'.length)] = inline(serialized[id] ?? components[id])
    const code = serializer(name, main, $defs)
    const body = `{${code.trim()}\n  return module.exports }`
    return `  get ${name} () { return define(this, '${name}', (module) => ${body}) }`
  })
  return `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)

// Compiled on first use, for a fast start.
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
    const options = { mode: 'standalone', schema: { spec: { $id: 'spec', $defs } } }
    return withOwnCounters(fastJson(schema, options as Json) as unknown as string)
  } catch (error) {
    throw new GenerateError(
      `Cannot compile a serializer for the response schema ${name}: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

/** Restarts the numbers of schemas in each serializer. fast-json-stringify counts them per process. */
function withOwnCounters(code: string): string {
  const names = new Map<string, string>()
  return code.replace(/__fjs_(?:merged|root)_\d+/g, (name) => {
    if (!names.has(name)) names.set(name, name.replace(/\d+$/, String(names.size)))
    return names.get(name)!
  })
}
