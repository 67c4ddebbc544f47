// Ctrl-K: the search over pages, actions, projects and files is loaded once the first page is shown.
import { h, render } from 'preact'
import { preload } from './lazy.tsx'

const load = () => import('./engine.ts')

// The search then opens at once, and takes the first keys.
preload(load)

/** Opens the search. */
export function openCommands(): void {
  const place = document.body.appendChild(document.createElement('div'))
  const close = (): void => {
    render(null, place)
    place.remove()
  }
  void load().then(({ Commands }) => render(h(Commands, { onClose: close }), place), close)
}

/** Ctrl-K or ⌘K anywhere. */
export function followCommandKey(): void {
  addEventListener('keydown', (event) => {
    if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
    event.preventDefault()
    if (document.querySelector('dialog[open]') === null) openCommands()
  })
}
