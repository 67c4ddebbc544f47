// Resolves references inside the bundled document, where all references are local.
import { keysOfFragment, valueAt } from './json-pointer.ts'

type Json = any

export function resolve(document: Json, node: Json): Json {
  let at = node
  for (let hops = 0; at?.$ref !== undefined && hops < 20; hops++)
    at = valueAt(document, keysOfFragment(at.$ref))
  return at
}
