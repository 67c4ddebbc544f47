// Paths of the console. A page has the path of the contract after the prefix `/console`.
import { useEffect, useState } from 'preact/hooks'

const prefix = '/console'
const changed = new EventTarget()

export interface Route {
  /** Without the prefix; `/` for the first page. */
  path: string
  query: URLSearchParams
}

const currentRoute = (): Route => ({
  path: location.pathname.slice(prefix.length).replace(/\/$/, '') || '/',
  query: new URLSearchParams(location.search),
})

/** The properties of a page. */
export interface PageProps extends Route {
  /** The values of the path's parameters. */
  values: Record<string, string>
}

/** The chosen project or organization, which the address has and links keep. */
export const placeNames = ['project_id', 'organization_id'] as const
export type Place = Partial<Record<(typeof placeNames)[number], string>>

export function placeIn(query: URLSearchParams): Place {
  const name = placeNames.find((each) => /^(prj|org)_/.test(query.get(each) ?? ''))
  return name === undefined ? {} : { [name]: query.get(name)! }
}

export const currentPlace = (): Place => placeIn(new URLSearchParams(location.search))

/** @param place what the address chooses in place of the current project or organization. */
export const href = (
  path: string,
  query: URLSearchParams | Record<string, string> = {},
  place = currentPlace(),
): string => {
  const own = new URLSearchParams(query)
  const isPlaced = placeNames.some((name) => own.has(name))
  const search = new URLSearchParams([...Object.entries(isPlaced ? {} : place), ...own]).toString()
  return prefix + (path === '/' ? '' : path) + (search === '' ? '' : `?${search}`)
}

/** @param scrolls whether the page begins at its top, which it does unless it replaces the one before. */
export function navigate(to: string, options: { replace?: boolean; scrolls?: boolean } = {}): void {
  const { replace = false, scrolls = !replace } = options
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  changed.dispatchEvent(new Event('change'))
  if (scrolls) scrollTo(0, 0)
}

/** Links to pages of the console change the page without a reload. */
export function followLinks(): void {
  addEventListener('popstate', () => changed.dispatchEvent(new Event('change')))
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>(`a[href^="${prefix}"]`)
    const opensElsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0
    if (link === null || opensElsewhere || event.defaultPrevented) return
    event.preventDefault()
    navigate(link.getAttribute('href')!)
  })
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute)
  useEffect(() => {
    const update = (): void => setRoute(currentRoute())
    changed.addEventListener('change', update)
    return () => changed.removeEventListener('change', update)
  }, [])
  return route
}

/** The values of a template's parameters in a path, or null if the path is another one. */
export function match(template: string, path: string): Record<string, string> | null {
  const [names, values] = [template.split('/'), path.split('/')]
  if (names.length !== values.length) return null
  const found: Record<string, string> = {}
  for (const [i, name] of names.entries()) {
    if (name.startsWith('{')) found[name.slice(1, -1)] = decodeURIComponent(values[i])
    else if (name !== values[i]) return null
  }
  return found
}

/** The path of a template with values in place of its parameters. */
export const fill = (template: string, values: Record<string, string>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
