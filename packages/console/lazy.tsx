// Parts of the console that are loaded when they are first shown.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from './skeleton.tsx'

/** Loads a part once the first page is shown, so that it is there even without a network. */
export function preload(load: () => Promise<unknown>): void {
  const start = (): void => void load().catch(() => {})
  if (document.readyState === 'complete') start()
  else addEventListener('load', start)
}

/** A component that `load` imports when it is first shown. */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  Waiting: ComponentType = () => <Skeleton />,
): ComponentType<P> {
  let loaded: ComponentType<P> | null = null
  return function Lazy(props: P) {
    const [state, setState] = useState<'loading' | 'failed' | 'ready'>(loaded === null ? 'loading' : 'ready')
    useEffect(() => {
      if (state !== 'loading') return
      load().then(
        (Loaded) => {
          loaded = Loaded
          setState('ready')
        },
        () => setState('failed'),
      )
    }, [state])
    if (state === 'failed') return <Stale retry={() => setState('loading')} />
    const Loaded = loaded
    return Loaded === null ? <Waiting /> : <Loaded {...props} />
  }
}

/** A new version of the server has other files: only a reload finds them. */
function Stale({ retry }: { retry: () => void }) {
  return (
    <div class="problem" role="alert">
      <p>This part of the console could not be loaded. The server may have a new version.</p>
      <div class="actions">
        <button type="button" onClick={retry}>
          Try again
        </button>
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    </div>
  )
}
