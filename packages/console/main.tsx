// The shell: sign-in, navigation, and the page of the current path.
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { followCommandKey } from './command.ts'
import { followListKeys } from './keys.ts'
import { lazy, preload } from './lazy.tsx'
import { detailAt, listAt, model, peoplePath } from './model.ts'
import { pageAt } from './pages/pages.ts'
import { useName } from './names.ts'
import { followLinks, href, placeIn, useRoute } from './router.ts'
import { failureOf, isAllowed, isPossible, isSignedOut, signIn, storedKey, type Failure } from './session.ts'
import { Bar, Navigation } from './shell.tsx'
import { Problem, Skeleton } from './ui.tsx'

const loadPages = () => import('./engine.ts')
preload(loadPages)
const ListPage = lazy(async () => (await loadPages()).ListPage)
const DetailPage = lazy(async () => (await loadPages()).DetailPage)
const ClockBar = lazy(
  async () => (await loadPages()).ClockBar,
  () => <div class="clock" />,
)

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
  const route = useRoute()
  const { path, query } = route
  const main = useRef<HTMLElement>(null)
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    menu.current!.open = false
    for (const each of document.querySelectorAll<HTMLElement>(':popover-open')) each.hidePopover()
    document.title = `${titleAt(path)} · ${model.title}`
    main.current!.focus({ preventScroll: true })
  }, [path, JSON.stringify(placeIn(query))])
  return (
    <>
      <Bar name={name} route={route} />
      <div class="shell">
        <details class="menu" ref={menu}>
          <summary>Menu</summary>
          <Navigation path={path} />
        </details>
        <main ref={main} tabIndex={-1}>
          <Trail path={path} />
          {path.startsWith('/payments/') && hasClock() && <ClockBar />}
          <Page path={path} query={query} />
        </main>
      </div>
    </>
  )
}

const titleAt = (path: string): string =>
  path === '/'
    ? 'Home'
    : ((listAt(path) ?? detailAt(path))?.page.title ?? (path === peoplePath ? 'People' : path.slice(1)))

/** Admins of an organization have only the clocks of its customers, which the console does not show. */
const hasClock = (): boolean => isAllowed('getTestClock') && isPossible('getTestClock', {})

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
          {listAt(each)?.page.title ?? <Named id={each.slice(each.lastIndexOf('/') + 1)} />}
        </a>
      ))}
    </nav>
  )
}

const Named = ({ id }: { id: string }) => <>{useName(id)}</>

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
        <a href={href('/')}>Back to the home page</a>
      </p>
    </section>
  )
}

followLinks()
followCommandKey()
followListKeys()
render(<App stored={storedKey()} />, document.getElementById('console')!)
