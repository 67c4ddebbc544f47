// The shell: sign-in, navigation, and the page of the current path.
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { DetailPage } from './detail.tsx'
import { ListPage } from './list.tsx'
import { detailAt, listAt, model } from './model.ts'
import { ClockBar } from './pages/payments.tsx'
import { pageAt } from './pages/pages.ts'
import { followLinks, href, useRoute } from './router.ts'
import {
  failureOf,
  isAllowed,
  isPossible,
  isSignedOut,
  signIn,
  signOut,
  storedKey,
  type Failure,
} from './session.ts'
import { Problem, Skeleton } from './ui.tsx'

const themes = ['light dark', 'light', 'dark']
const themeKey = 'platform-theme'

function App({ stored }: { stored: string | null }) {
  const [name, setName] = useState<string | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const mayEnter = stored !== null || !isSignedOut()
  const [busy, setBusy] = useState(mayEnter)
  async function enter(key: string | null): Promise<void> {
    setBusy(true)
    try {
      setName(await signIn(key))
    } catch (error) {
      const failed = failureOf(error)
      // A browser without a session has nothing wrong.
      if (key !== null || failed.code !== 'UNAUTHORIZED') setFailure(failed)
    } finally {
      setBusy(false)
    }
  }
  useEffect(() => {
    if (mayEnter) void enter(stored)
  }, [])
  if (name !== null) return <Shell name={name} />
  if (busy && failure === null) return <Skeleton />
  return <SignIn failure={failure} busy={busy} enter={enter} />
}

function SignIn(props: { failure: Failure | null; busy: boolean; enter: (key: string) => Promise<void> }) {
  return (
    <main class="sign-in">
      <h1>{model.title}</h1>
      <p>
        <a href="/sign-in?to=console">Sign in with your account</a>
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void props.enter(String(new FormData(event.currentTarget).get('key')).trim())
        }}
      >
        <div class="field">
          <label for="key">API key</label>
          <input id="key" name="key" type="password" autoComplete="off" required />
          <small class="soft">It stays in this tab and is sent to this server only.</small>
        </div>
        {props.failure !== null && <Problem failure={props.failure} />}
        <button type="submit" class="main" disabled={props.busy}>
          Sign in
        </button>
      </form>
    </main>
  )
}

function Shell({ name }: { name: string }) {
  const { path, query } = useRoute()
  const main = useRef<HTMLElement>(null)
  const menu = useRef<HTMLDetailsElement>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  useEffect(() => {
    menu.current!.open = false
    document.title = `${path === '/' ? 'Overview' : path.slice(1)} · ${model.title}`
    main.current!.focus({ preventScroll: true })
  }, [path])
  return (
    <>
      <header class="bar">
        <a class="brand" href={href('/')}>
          {model.title}
        </a>
        <span class="soft">{name}</span>
        <Theme />
        <a href="/docs">Reference</a>
        <button type="button" onClick={() => void signOut().catch((error) => setFailure(failureOf(error)))}>
          Sign out
        </button>
      </header>
      <div class="shell">
        <details class="menu" ref={menu}>
          <summary>Menu</summary>
          <Navigation path={path} />
        </details>
        <main ref={main} tabIndex={-1}>
          {failure !== null && <Problem failure={failure} />}
          <Trail path={path} />
          {path.startsWith('/payments/') && hasClock() && <ClockBar />}
          <Page path={path} query={query} />
        </main>
      </div>
    </>
  )
}

/** Admins of an organization have only the clocks of its customers, which the console does not show. */
const hasClock = (): boolean => isAllowed('getTestClock') && isPossible('getTestClock', {})

function Navigation({ path }: { path: string }) {
  const groups = model.groups
    .map((group) => ({ ...group, pages: group.pages.filter(({ operation }) => isAllowed(operation)) }))
    .filter((group) => group.pages.length > 0)
  const current = (to: string): 'page' | undefined =>
    path === to || (to !== '/' && path.startsWith(`${to}/`)) ? 'page' : undefined
  return (
    <nav aria-label="Pages">
      <a href={href('/')} aria-current={current('/')}>
        Overview
      </a>
      {groups.map((group) => (
        <div key={group.title}>
          <h2>{group.title}</h2>
          {group.pages.map((page) => (
            <a key={page.path} href={href(page.path)} aria-current={current(page.path)}>
              {page.title}
            </a>
          ))}
        </div>
      ))}
    </nav>
  )
}

/** The pages above this one. */
function Trail({ path }: { path: string }) {
  const segments = path.split('/').slice(1, -1)
  const above = segments
    .map((_, i) => `/${segments.slice(0, i + 1).join('/')}`)
    .filter((each) => listAt(each) !== null || detailAt(each) !== null)
  if (above.length === 0) return null
  return (
    <nav class="trail" aria-label="Above">
      {above.map((each) => (
        <a key={each} href={href(each)}>
          {listAt(each)?.page.title ?? each.slice(each.lastIndexOf('/') + 1)}
        </a>
      ))}
    </nav>
  )
}

function Page({ path, query }: { path: string; query: URLSearchParams }) {
  const made = pageAt(path)
  if (made !== null) return <made.Made key={path} {...{ values: made.values, path, query }} />
  const list = listAt(path)
  if (list !== null) return <ListPage key={path} list={list.page} {...{ values: list.values, path, query }} />
  const detail = detailAt(path)
  if (detail !== null)
    return <DetailPage key={path} detail={detail.page} {...{ values: detail.values, path }} />
  return (
    <section>
      <h1>There is no such page</h1>
      <p>
        <a href={href('/')}>Back to the overview</a>
      </p>
    </section>
  )
}

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem(themeKey) ?? themes[0])
  useEffect(() => {
    document.documentElement.style.colorScheme = theme
    localStorage.setItem(themeKey, theme)
  }, [theme])
  return (
    <select aria-label="Colors" value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
      {themes.map((each, i) => (
        <option key={each} value={each}>
          {['System', 'Light', 'Dark'][i]}
        </option>
      ))}
    </select>
  )
}

followLinks()
render(<App stored={storedKey()} />, document.getElementById('console')!)
