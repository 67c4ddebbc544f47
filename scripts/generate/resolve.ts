// Follows references inside the bundled document, where all of them are local.
type Json = any

export function resolve (document: Json, node: Json): Json {
  let at = node
  for (let hops = 0; at?.$ref !== undefined && hops < 20; hops++) {
    at = (at.$ref as string).split('/').slice(1)
      .reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  }
  return at
}
