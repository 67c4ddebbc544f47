// The search over pages, actions, projects and files. An ID leads to its page.
import { useEffect, useRef, useState } from 'preact/hooks'
import { model, pageOf, pathOfId, prefixOf, type List } from './model.ts'
import { currentPlace, href, navigate } from './router.ts'
import { call, isAllowed } from './session.ts'
import { Dialog, Problem, useLoaded } from './ui.tsx'

interface Found {
  kind: string
  /** Other words by which it is found. */
  words?: string[]
  title: string
  to: string
}

const debounceMs = 150
const maxOfKind = 8

/** Pages, and what can be created on them. */
function pages(): Found[] {
  const all = model.groups.flatMap(({ title, pages }) =>
    pages
      .filter((path) => isAllowed(pageOf(path).operation))
      .map((path): Found => ({ kind: title, ...pageOf(path), to: href(path) })),
  )
  const created = model.lists.filter(({ path, create }) => !path.includes('{') && isAllowed(create))
  return [
    { kind: 'Page', title: 'Home', to: href('/') },
    ...all,
    ...created.map(({ path, title }): Found => ({
      kind: 'Action',
      title: `Create: ${title}`,
      to: href(path, { new: '1' }),
    })),
  ]
}

/** Whether each word begins a word of the text. */
const matches = (text: string, q: string): boolean =>
  q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => ` ${text.toLowerCase()}`.includes(` ${word}`))

async function resources(q: string): Promise<Found[]> {
  if (q.length < 2) return []
  const place = currentPlace()
  const listed = async (list: List | undefined, title: string): Promise<Found[]> => {
    if (list === undefined || !isAllowed(list.operation)) return []
    const filters = Object.entries(place).filter(([name]) => list.filters.some((each) => each.name === name))
    const query = { q, limit: maxOfKind, ...Object.fromEntries(filters) }
    const { data } = await call(list.operation, { query })
    return data.data.map(({ id, name }: any): Found => ({
      kind: title,
      title: name,
      to: href(pathOfId(id)!),
    }))
  }
  const [projects, files] = ['/projects', '/storage/files'].map((path) =>
    model.lists.find((list) => list.path === path),
  )
  return (await Promise.all([listed(projects, 'Project'), listed(files, 'File')])).flat()
}

export function Commands({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [q, setQ] = useState('')
  const [chosen, setChosen] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    const timer = setTimeout(() => setQ(text.trim()), debounceMs)
    return () => clearTimeout(timer)
  }, [text])
  const loaded = useLoaded(async () => await resources(q), q)
  const words = text.trim()
  // The results of the previous words are not shown.
  const isLoaded = q === words && !loaded.loading
  const byId = prefixOf(words) === undefined ? null : pathOfId(words)
  const found: Found[] =
    byId !== null
      ? [{ kind: 'ID', title: words, to: href(byId) }]
      : [
          ...pages()
            .filter(({ title, kind, words: also }) => matches([title, kind, also].join(' '), words))
            .slice(0, words === '' ? undefined : 2 * maxOfKind),
          ...((isLoaded && loaded.value) || []),
        ]
  const at = Math.min(chosen, found.length - 1)
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at])
  const go = (to: string): void => {
    onClose()
    navigate(to)
  }
  return (
    <Dialog title="Search" onClose={onClose} kind="commands">
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Search pages, actions, projects and files, or paste an ID"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.length === 0 ? undefined : `found-${at}`}
        placeholder="Search, or paste an ID"
        autoComplete="off"
        autoFocus
        onInput={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={(event) => {
          // In an input method, Enter confirms a word.
          if (event.isComposing) return
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
          if (step !== 0) setChosen(Math.max(0, Math.min(found.length - 1, at + step)))
          else if (event.key === 'Enter' && found.length > 0) go(found[at].to)
          else if (event.key === 'Escape') onClose()
          else return
          event.preventDefault()
        }}
      />
      <ul id="found" role="listbox" aria-label="Found" ref={list}>
        {found.map(({ kind, title, to }, i) => (
          <li
            key={`${to} ${title}`}
            id={`found-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => go(to)}
          >
            {title} <span class="soft">{kind}</span>
          </li>
        ))}
      </ul>
      {isLoaded && loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {found.length === 0 && isLoaded && loaded.failure === null && (
        <p class="soft" role="status">
          Nothing is found.
        </p>
      )}
    </Dialog>
  )
}
