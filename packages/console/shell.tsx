// The frame of all pages: the switcher of organization and project, search, the account, and the areas.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { openCommands } from './command.ts'
import { Icon } from './icon.tsx'
import { lazy } from './lazy.tsx'
import type { ConsoleGroup } from './model-types.ts'
import { listOf, model, pageOf } from './model.ts'
import { nameOf, remember, useName } from './names.ts'
import { href, placeIn, type Place, type Route } from './router.ts'
import { call, failureOf, isAllowed, signOut, type Failure } from './session.ts'
import { focus, Problem, Skeleton, useLoaded } from './ui.tsx'

const ApiLog = lazy(async () => (await import('./engine.ts')).ApiLog)

const themes = ['light dark', 'light', 'dark']
const themeKey = 'platform-theme'

/** The logo of the installation. */
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href

/** The pages of an area that the person may see. */
const pagesOf = ({ pages }: ConsoleGroup): string[] =>
  pages.filter((path) => isAllowed(pageOf(path).operation))

const areasAt = (place: ConsoleGroup['place']): ConsoleGroup[] =>
  model.groups.filter((group) => group.place === place && pagesOf(group).length > 0)

/** The longest path of a page that a path is below, or one with the same beginning. */
function pageAbove(path: string): string | undefined {
  const all = model.groups.flatMap(({ pages }) => pages).sort((a, b) => b.length - a.length)
  const beginning = path.split('/').slice(0, 2).join('/')
  return (
    all.find((each) => path === each || path.startsWith(`${each}/`)) ??
    all.findLast((each) => each.startsWith(`${beginning}/`))
  )
}

export function Bar({ name, route }: { name: string; route: Route }) {
  return (
    <header class="bar">
      <a class="brand" href={href('/')}>
        <img src={icon} alt="" width={20} height={20} />
        <span>{model.title}</span>
      </a>
      <Switcher {...route} />
      <button type="button" class="find" onClick={openCommands}>
        <Icon name="search" />
        <span>Search</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Requests />
      <a class="docs" href="/docs">
        Docs
      </a>
      <Account name={name} />
    </header>
  )
}

/** The requests of the console. */
function Requests() {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" class="plain api" popovertarget="api">
        API
      </button>
      <div
        id="api"
        class="menu-sheet api-log"
        popover="auto"
        role="region"
        aria-label="API requests"
        tabIndex={0}
        onToggle={(event) => setIsOpen(event.newState === 'open')}
      >
        <h2>API requests</h2>
        {isOpen && <ApiLog />}
      </div>
    </>
  )
}

export function Navigation({ path }: { path: string }) {
  const above = pageAbove(path)
  const current = model.groups.find(({ pages }) => above !== undefined && pages.includes(above))
  const areas = [...areasAt(undefined), ...areasAt('operator')]
  return (
    <nav aria-label="Pages">
      <a class="area" href={href('/')} aria-current={path === '/' ? 'page' : undefined}>
        <Icon name="home" />
        Home
      </a>
      {areas.map((area) => {
        const pages = pagesOf(area)
        const isOpen = area === current
        return (
          <div key={area.title} class={area.place}>
            <a class="area" href={href(pages[0])} aria-current={isOpen ? 'true' : undefined}>
              <Icon name={area.icon ?? 'other'} />
              {area.title}
            </a>
            {isOpen && pages.length > 1 && <Links pages={pages} current={above} />}
          </div>
        )
      })}
    </nav>
  )
}

function Links({ pages, current }: { pages: string[]; current?: string }) {
  return (
    <ul>
      {pages.map((path) => (
        <li key={path}>
          <a href={href(path)} aria-current={path === current ? 'page' : undefined}>
            {pageOf(path).title}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Account({ name }: { name: string }) {
  const [failure, setFailure] = useState<Failure | null>(null)
  return (
    <>
      <button type="button" class="face" popovertarget="account" aria-label={`Account: ${name}`}>
        {name.slice(0, 1).toUpperCase()}
      </button>
      <div id="account" class="menu-sheet" popover="auto" onKeyDown={moveFocus}>
        <p>{name}</p>
        <nav aria-label="Account">
          {areasAt('account').map((area) => (
            <Links key={area.title} pages={pagesOf(area)} />
          ))}
        </nav>
        <Theme />
        <button type="button" onClick={() => void signOut().catch((error) => setFailure(failureOf(error)))}>
          Sign out
        </button>
        {failure !== null && <Problem failure={failure} />}
      </div>
    </>
  )
}

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem(themeKey) ?? themes[0])
  useEffect(() => {
    document.documentElement.style.colorScheme = theme
    localStorage.setItem(themeKey, theme)
  }, [theme])
  return (
    <label class="theme">
      Colors
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
        {themes.map((each, i) => (
          <option key={each} value={each}>
            {['System', 'Light', 'Dark'][i]}
          </option>
        ))}
      </select>
    </label>
  )
}

/** The arrows move between the links and fields of a menu. */
function moveFocus(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0 || event.target instanceof HTMLSelectElement) return
  const inside = event.currentTarget as HTMLElement
  const all = [...inside.querySelectorAll<HTMLElement>('a, button, input')]
  event.preventDefault()
  all.at((all.indexOf(document.activeElement as HTMLElement) + step) % all.length)?.focus()
}

/** Chooses the project or organization whose resources the lists show. */
function Switcher({ path, query }: Route) {
  const [isOpen, setIsOpen] = useState(false)
  const place = placeIn(query)
  const id = place.project_id ?? place.organization_id
  useName(id)
  if (!isAllowed('listProjects')) return null
  return (
    <>
      <button type="button" class="place" popovertarget="place">
        <span class="hidden">Project or organization: </span>
        <span>{id === undefined ? 'Your account' : (nameOf(id) ?? id)}</span>
        <Icon name="switch" />
      </button>
      <div
        id="place"
        class="menu-sheet"
        popover="auto"
        onToggle={(event) => setIsOpen(event.newState === 'open')}
        onKeyDown={moveFocus}
      >
        {isOpen && <Places current={id} to={(chosen) => placeHref(path, query, chosen)} />}
      </div>
    </>
  )
}

/** The same list in another place, or the list that a resource is in, as it belongs to one place. */
function placeHref(path: string, query: URLSearchParams, place: Place): string {
  const to = path === '/' ? path : (pageAbove(path) ?? '/')
  const kept = to === path ? [...query].filter(([name]) => !placeBound.has(name)) : []
  return href(to, new URLSearchParams(kept), place)
}

/** What an address has that belongs to the place before. */
const placeBound = new Set(['project_id', 'organization_id', 'cursor', 'folder_id', 'item', 'place'])

function Places({ current, to }: { current: string | undefined; to: (place: Place) => string }) {
  const [q, setQ] = useState('')
  const found = useLoaded(async () => {
    const named = { limit: 100, sort: 'name', order: 'asc' }
    const [projects, organizations] = await Promise.all([
      call('listProjects', { query: { ...named, ...(q !== '' && { q }) } }),
      isAllowed('listOrganizations') ? call('listOrganizations', { query: { limit: 100 } }) : null,
    ])
    remember(listOf('prj')!, projects.data.data)
    if (organizations !== null) remember(listOf('org')!, organizations.data.data)
    return { projects: projects.data.data as any[], organizations: (organizations?.data.data ?? []) as any[] }
  }, q)
  const { projects = [], organizations = [] } = found.value ?? {}
  const link = (id: string | undefined, text: ComponentChildren, place: Place) => (
    <a key={id} href={to(place)} aria-current={id === current ? 'true' : undefined}>
      {text}
    </a>
  )
  const projectsOf = (owner: string | null) =>
    projects
      .filter(({ organization_id: of }) =>
        owner === null ? !organizations.some(({ id }) => id === of) : of === owner,
      )
      .map(({ id, name }) => link(id, name, { project_id: id }))
  return (
    <>
      <input
        type="search"
        aria-label="Find a project"
        placeholder="Find a project"
        ref={focus}
        onInput={(event) => setQ(event.currentTarget.value.trim())}
      />
      {found.failure !== null && <Problem failure={found.failure} retry={found.reload} />}
      {found.value === null && found.failure === null && <Skeleton rows={4} />}
      {q === '' && link(undefined, 'Your account', {})}
      {projectsOf(null)}
      {organizations.map(({ id, name }) => {
        const inside = projectsOf(id)
        const isFound = q === '' || name.toLowerCase().includes(q.toLowerCase())
        return isFound || inside.length > 0 ? (
          <div key={id} class="organization">
            {link(id, name, { organization_id: id })}
            {inside}
          </div>
        ) : null
      })}
      <a class="all" href={href('/projects', {}, {})}>
        All projects
      </a>
    </>
  )
}
