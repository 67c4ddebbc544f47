// JSON pointers (RFC 6901).

/** The keys of a pointer, from the root on. A `#` at the start, as in a local `$ref`, is ignored. */
export function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The keys of a pointer in a URI, such as a `$ref`: `#/paths/~1pets~1%7Bid%7D`. */
export function keysOfFragment(fragment: string): string[] {
  return keysOf(decodeURIComponent(fragment))
}

/** A key, escaped for a pointer. */
export function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The keys as error messages name a field: `items[0].price_id`, and `[0].price_id` in a list. */
export function fieldName(keys: readonly string[]): string {
  return keys.reduce((text, key) => {
    if (/^\d+$/.test(key)) return `${text}[${key}]`
    return text === '' ? key : `${text}.${key}`
  }, '')
}

/** The value at the keys, or undefined. */
export function valueAt(root: any, keys: readonly string[]): any {
  return keys.reduce((value, key) => value?.[key], root)
}
