import { groupBy } from './group-by.ts'
// Parameters as text: one table of `in`, `style`, `explode` and the kind of value, for reading and for
// writing (OpenAPI 3.1.1, 4.8.12 "Style Values"; RFC 6570). Imports nothing: generated servers have a copy.

/** How a parameter is written. */
export interface ParameterStyle {
  in: 'path' | 'query' | 'header' | 'cookie'
  name: string
  style: 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'cookie'
  explode: boolean
  kind: 'primitive' | 'array' | 'object'
  /** Whether an array may also be one primitive value. */
  orPrimitive?: boolean
  /** Whether the values of an array or an object may be any text, which may have delimiters. */
  isText?: boolean
  /** Whether values of an array or an object may be objects, which are written as JSON. */
  hasObjects?: boolean
  /** The properties of an object, and whether it may have others. */
  names?: string[]
  isOpen?: boolean
  /** Whether the value is JSON: a parameter with `content`. */
  isJson?: boolean
  allowReserved?: boolean
  allowEmptyValue?: boolean
}

/** The raw text of a request: nothing is percent-decoded. */
export interface RawParameters {
  /** By name. */
  path: Record<string, string>
  /** Without the question mark. */
  query: string
  /** By name in lower case. */
  headers: Record<string, string | string[] | undefined>
}

export interface ReadParameters {
  path: Record<string, unknown>
  /** Undeclared parameters included, as text or as a list of texts. */
  query: Record<string, unknown>
  /** By name in lower case; only declared ones. */
  header: Record<string, unknown>
  cookie: Record<string, unknown>
  /** The parameters with `content` that are not JSON. */
  notJson: ParameterStyle[]
}

type Pair = [name: string, text: string]

/**
 * The values are texts, lists of texts and objects of texts. A missing or malformed parameter has no value.
 */
export function readParameters(declared: ParameterStyle[], raw: RawParameters): ReadParameters {
  const query = pairsOf(raw.query, '&', true)
  const cookies = pairsOf(headerText(raw.headers.cookie) ?? '', /; */, false)
  const read: ReadParameters = { path: {}, query: {}, header: {}, cookie: {}, notJson: [] }
  const claimed = new Set(declared.filter((each) => each.in === 'query').map(({ name }) => name))
  const taken = new Set<Pair>()
  for (const parameter of declared) {
    const name = parameter.in === 'header' ? parameter.name.toLowerCase() : parameter.name
    const value =
      parameter.in === 'query'
        ? fromPairs(parameter, query, claimed, taken)
        : parameter.in === 'cookie'
          ? fromPairs(parameter, withinCookies(parameter, cookies), new Set(), new Set())
          : parameter.in === 'header'
            ? fromList(parameter, headerText(raw.headers[name]), (text) => text.trim())
            : fromPath(parameter, raw.path[name])
    if (value === undefined) continue
    if (!parameter.isJson)
      setOwn(read[parameter.in], name, parameter.hasObjects === true ? withObjects(value) : value)
    else
      try {
        setOwn(read[parameter.in], name, JSON.parse(String(value)))
      } catch {
        read.notJson.push(parameter)
      }
  }
  for (const [name, pairs] of groupBy(
    query.filter((pair) => !taken.has(pair)),
    ([each]) => each,
  )) {
    const texts = pairs.map(([, text]) => decoded(text, true))
    if (!Object.hasOwn(read.query, name)) setOwn(read.query, name, texts.length === 1 ? texts[0] : texts)
  }
  return read
}

/** OpenAPI leaves open how an object inside of a value is written. Here it is JSON. */
function withObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withObjects)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withObjects(each)]))
  if (typeof value !== 'string' || !value.startsWith('{')) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/**
 * What a request has for a parameter: a part of the path, `name=value` of the query or of `Cookie`, or a
 * field.
 */
export function writeParameter(parameter: ParameterStyle, given: unknown): string {
  const { in: where, name, style, explode, kind, isJson, allowReserved = false } = parameter
  const encode = (value: unknown): string => {
    if (where === 'header') return plain(value)
    const text = encoded(plain(value), allowReserved && where === 'query' && kind === 'primitive')
    return style === 'label' ? text.replaceAll('.', '%2E') : text
  }
  const key = where === 'query' || where === 'cookie' ? encoded(name, false) : name
  if (isJson) {
    const text = encode(JSON.stringify(given))
    return where === 'query' || where === 'cookie' ? `${key}=${text}` : text
  }
  const value = kind === 'array' ? [given].flat() : given
  const isObject = kind === 'object' && typeof value === 'object' && value !== null
  const entries: Pair[] = isObject
    ? Object.entries(value).flatMap(([property, each]): Pair[] =>
        each === undefined ? [] : [[encode(property), encode(each)]],
      )
    : []
  const items = Array.isArray(value) ? value.map(encode) : isObject ? [] : [encode(value)]
  const flat = isObject ? entries.flat() : items
  const assigned = entries.map((pair) => pair.join('='))
  if (where === 'path' || where === 'header') {
    if (style === 'label') return `.${(explode ? [...items, ...assigned] : flat).join(explode ? '.' : ',')}`
    if (style === 'matrix') {
      if (explode && isObject) return assigned.map((each) => `;${each}`).join('')
      const texts = explode ? items : [flat.join(',')]
      return texts.map((text) => (text === '' ? `;${name}` : `;${name}=${text}`)).join('')
    }
    return (explode && isObject ? assigned : flat).join(',')
  }
  const between = where === 'query' ? '&' : style === 'cookie' ? '; ' : '&'
  if (style === 'deepObject' && isObject)
    return Object.entries(value)
      .flatMap(([property, each]) =>
        [each].flat().map((item) => `${encoded(`${name}[${property}]`, false)}=${encode(item)}`),
      )
      .join(between)
  if (explode) return (isObject ? assigned : items.map((item) => `${key}=${item}`)).join(between)
  return `${key}=${flat.join(delimiters[style] ?? ',')}`
}

/** The delimiters of lists in a query, as they are written. */
const delimiters: Record<string, string> = { spaceDelimited: '%20', pipeDelimited: '%7C' }

function fromPath(parameter: ParameterStyle, text: string | undefined): unknown {
  if (text === undefined) return undefined
  const { style, explode, kind, name } = parameter
  const decode = (each: string): string => decoded(each)
  if (style === 'label')
    return text.startsWith('.') ? fromList(parameter, text.slice(1), decode, explode ? '.' : ',') : undefined
  if (style !== 'matrix') return fromList(parameter, text, decode)
  if (!text.startsWith(';')) return undefined
  const pairs = pairsOf(text.slice(1), ';', false)
  if (explode && kind === 'object') return objectOf(pairs, decode)
  const own = pairs.filter(([each]) => each === name)
  if (own.length === 0 || own.length < pairs.length) return undefined
  if (explode && kind === 'array') return own.map(([, each]) => decode(each))
  return own.length === 1 ? fromList({ ...parameter, explode: false }, own[0][1], decode) : undefined
}

/** A value of the style `simple`, or what follows the prefix of another style. */
function fromList(
  { kind, explode, isText, orPrimitive }: ParameterStyle,
  text: string | undefined,
  decode: (text: string) => string,
  separator = ',',
): unknown {
  if (text === undefined) return undefined
  if (kind === 'primitive') return decode(text)
  let parts = text === '' ? [] : text.split(separator)
  // A client that encodes the whole list: harmless where no value can have a comma.
  if (parts.length === 1 && isText !== true)
    parts = decode(text).split(
      separator === ',' && !text.includes(',') && text.includes('.') ? /[.,]/ : separator,
    )
  const values = parts.map(decode)
  if (kind === 'array') return orPrimitive === true && values.length === 1 ? values[0] : values
  if (explode)
    return objectOf(
      parts.map((part) => pairOf(part)),
      decode,
    )
  return values.length % 2 === 1
    ? undefined
    : Object.fromEntries(values.flatMap((value, i) => (i % 2 === 0 ? [[value, values[i + 1]]] : [])))
}

/** A value in the query or in `Cookie`. */
function fromPairs(
  parameter: ParameterStyle,
  pairs: Pair[],
  claimed: Set<string>,
  taken: Set<Pair>,
): unknown {
  const { name, style, explode, kind, names = [], isOpen, orPrimitive } = parameter
  const take = (matches: (key: string) => boolean): Pair[] => {
    const found = pairs.filter((pair) => !taken.has(pair) && matches(pair[0]))
    for (const pair of found) taken.add(pair)
    return found
  }
  const decode = (text: string): string => decoded(text, parameter.in === 'query')
  if (kind === 'object' && style === 'deepObject') {
    const own = take((key) => key.startsWith(`${name}[`) && key.endsWith(']'))
    return own.length === 0
      ? undefined
      : objectOf(
          own.map(([key, text]) => [key.slice(name.length + 1, -1), text]),
          decode,
        )
  }
  if (kind === 'object' && explode) {
    const own = take((key) => names.includes(key) || (isOpen === true && !claimed.has(key)))
    return own.length === 0 ? undefined : objectOf(own, decode)
  }
  const own = take((key) => key === name)
  if (own.length === 0) return undefined
  const texts = own.map(([, text]) => text)
  if (kind === 'primitive' || (explode && kind === 'array')) {
    const values = texts.map(decode)
    return values.length === 1 && (kind === 'primitive' || orPrimitive === true) ? values[0] : values
  }
  const [text] = texts
  if (texts.length > 1) return kind === 'array' ? texts.map(decode) : undefined
  const separated =
    style === 'spaceDelimited'
      ? text.replace(/%20|\+| /g, ',')
      : style === 'pipeDelimited'
        ? text.replace(/%7C|\|/gi, ',')
        : text
  if (separated === text || style === 'form') return fromList(parameter, text, decode)
  // A comma is a part of the value here.
  const parts = text.split(style === 'spaceDelimited' ? /%20|\+| / : /%7C|\|/i)
  return fromList(parameter, parts.map((part) => part.replaceAll(',', '%2C')).join(','), decode)
}

/** Cookies of a list or an object of the style `form`, which are parted by `&`. */
function withinCookies({ kind, explode, style, name, names = [] }: ParameterStyle, cookies: Pair[]): Pair[] {
  if (kind === 'primitive' || !explode || style === 'cookie') return cookies
  return cookies.flatMap(([key, text]) =>
    key === name || names.includes(key) ? pairsOf(`${key}=${text}`, '&', false) : [[key, text]],
  )
}

function pairsOf(text: string, separator: string | RegExp, plus: boolean): Pair[] {
  return text
    .split(separator)
    .filter((part) => part !== '')
    .map((part) => {
      const [name, value] = pairOf(part)
      return [decoded(name, plus), value]
    })
}

function pairOf(part: string): Pair {
  const at = part.indexOf('=')
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}

/** A name that is sent more than once has a list. */
function objectOf(pairs: Pair[], decode: (text: string) => string): Record<string, unknown> {
  return Object.fromEntries(
    [...groupBy(pairs, ([name]) => decode(name))].map(([name, own]) => {
      const texts = own.map(([, text]) => decode(text))
      return [name, texts.length === 1 ? texts[0] : texts]
    }),
  )
}

/** Also for `__proto__`, which an assignment would not set. */
function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
}

const headerText = (field: string | string[] | undefined): string | undefined =>
  Array.isArray(field) ? field.join(', ') : field

const plain = (value: unknown): string =>
  value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)

/** Malformed escapes stay as they are. */
export function decoded(text: string, plus = false): string {
  const spaced = plus ? text.replaceAll('+', ' ') : text
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

/**
 * Percent-encoded but for unreserved characters, and with `allowReserved` the reserved ones that delimit
 * nothing.
 */
function encoded(text: string, allowReserved: boolean): string {
  const strict = encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return allowReserved
    ? strict.replace(/%(?:2F|3A|3F|40|21|24|27|28|29|2A|2C|3B|3D)/g, (escape) => decodeURIComponent(escape))
    : strict
}
