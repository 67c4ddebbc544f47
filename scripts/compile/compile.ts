// What is compiled from generated/schemas.json.
import type { Schemas } from './schemas.ts'
import { compileSerializers } from './serializers.ts'
import { compileRequests, createCompilers } from './validators.ts'

const banner = '// Compiled by scripts/compile/main.ts from schemas.json. Do not edit.\n'

/**
 * The modules of generated/ by name.
 * @param compilers those of an earlier call, to compile only what has changed.
 */
export function compile(schemas: Schemas, compilers = createCompilers()): Map<string, string> {
  return new Map([
    ['validators.js', banner + compileRequests(schemas, compilers)],
    ['serializers.js', banner + compileSerializers(schemas)],
  ])
}
