// JSON pointers, as RFC 6901 has them.

/** The keys that a pointer leads by, from the root on. A `#` before it, as in a local `$ref`, is none of them. */
export function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** A key as it stands in a pointer. */
export function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** What the keys lead to; undefined where they lead nowhere. */
export function valueAt(root: any, keys: readonly string[]): any {
  return keys.reduce((value, key) => value?.[key], root)
}
