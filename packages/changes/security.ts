// Compares what an operation accepts as authentication. A client with the credentials of an alternative that
// was enough must be able to go on.
import {
  child,
  compareTexts,
  reporter,
  same,
  type Comparison,
  type Node,
  type Place,
  type Report,
} from './change.ts'

type Json = any

/** Such as `[{ apiKey: ['projects:read'] }]`: one of the alternatives is enough. */
type Alternatives = Array<Record<string, string[]>>

export function compareSecurity(
  { before: was, after: is }: Comparison,
  report: Report,
  before: Node,
  after: Node,
  included: Record<string, string[]> = {},
): void {
  const alternatives = (document: Json, operation: Json): Alternatives =>
    operation.security ?? document.security ?? []
  const [from, to] = [alternatives(was, before.value), alternatives(is, after.value)]
  const place: Place = { side: 'after', pointer: child(after, 'security').pointer }
  const open = (list: Alternatives): boolean =>
    list.length === 0 || list.some((alternative) => Object.keys(alternative).length === 0)
  if (open(from) && !open(to))
    return report('breaking', 'key-required', 'an API key is now required', place, before.pointer)
  if (!open(from) && open(to))
    return report('safe', 'key-not-required', 'an API key is no longer required', place)
  if (open(from)) return

  for (const former of from) {
    const same = to.filter((other) => hasSchemes(was, is, former, other))
    if (same.length === 0) {
      report(
        'breaking',
        'security-scheme-removed',
        `can no longer be called with ${Object.keys(former).join(' and ')}`,
        place,
        before.pointer,
      )
      continue
    }
    const had = scopesOf(former).flatMap((scope) => [scope, ...(included[scope] ?? [])])
    const needed = same.map((other) => scopesOf(other).filter((scope) => !had.includes(scope)))
    const [fewest] = needed.sort((a, b) => a.length - b.length)
    for (const scope of fewest)
      report('breaking', 'scope-required', `the scope ${scope} is now required`, place, before.pointer)
    for (const scope of scopesOf(former))
      if (same.every((other) => !scopesOf(other).includes(scope)))
        report('safe', 'scope-not-required', `the scope ${scope} is no longer required`, place)
  }
  for (const other of to)
    if (!from.some((former) => hasSchemes(was, is, former, other)))
      report(
        'safe',
        'security-scheme-added',
        `can now be called with ${Object.keys(other).join(' and ')}`,
        place,
      )
}

function scopesOf(alternative: Record<string, string[]>): string[] {
  return Object.values(alternative).flat()
}

/** Whether the credentials for `former` are those for `other`. The name of a scheme does not matter. */
function hasSchemes(was: Json, is: Json, former: object, other: object): boolean {
  const schemes = Object.keys(former)
  return Object.keys(other).every((name) =>
    schemes.some((own) => own === name || same(schemeOf(was, own), schemeOf(is, name))),
  )
}

const texts = ['description', 'bearerFormat', 'oauth2MetadataUrl', 'deprecated']

/** The parts of a scheme that matter to clients. */
function schemeOf(document: Json, name: string): Json {
  const { flows, ...scheme } = { ...document.components?.securitySchemes?.[name] }
  for (const text of texts) delete scheme[text]
  // An operation names the scopes that it needs.
  for (const [flow, { scopes: _, ...own }] of Object.entries<Json>(flows ?? {})) scheme[`${flow} flow`] = own
  if (scheme.type === 'http') scheme.scheme = String(scheme.scheme).toLowerCase()
  if (scheme.type === 'apiKey' && scheme.in === 'header') scheme.name = String(scheme.name).toLowerCase()
  for (const key of Object.keys(scheme)) if (key.startsWith('x-')) delete scheme[key]
  return scheme
}

/** Compares the schemes with the same name. An operation with another scheme is reported on its own. */
export function compareSchemes(comparison: Comparison): void {
  const { before, after } = comparison
  for (const name of Object.keys(before.components?.securitySchemes ?? {})) {
    if (after.components?.securitySchemes?.[name] === undefined) continue
    const pointer = `/components/securitySchemes/${name}`
    const [was, is] = [schemeOf(before, name), schemeOf(after, name)]
    const report = reporter(comparison, `security scheme ${name}`)
    const node = (document: Json): Node => ({ value: document.components.securitySchemes[name], pointer })
    compareTexts(report, node(before), node(after), [...texts, ...(same(was, is) ? ['flows'] : [])])
    for (const key of Object.keys({ ...was, ...is })) {
      if (same(was[key], is[key])) continue
      if (was[key] === undefined && key.endsWith(' flow')) {
        report('safe', 'security-flow-added', `${key} added`, { side: 'after', pointer })
        continue
      }
      report(
        'breaking',
        'security-scheme-changed',
        `${key} changed from ${JSON.stringify(was[key])} to ${JSON.stringify(is[key])}`,
        { side: 'after', pointer },
        pointer,
      )
    }
  }
}
