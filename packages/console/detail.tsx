// One resource: its fields, its actions, the lists about it, and its JSON.
import { useState } from 'preact/hooks'
import { FormDialog } from './form.tsx'
import type { ConsoleDetail } from './model-types.ts'
import { listAt, model } from './model.ts'
import { fill, href, navigate } from './router.ts'
import { call, isAllowed } from './session.ts'
import { Code, Problem, Skeleton, useLoaded } from './ui.tsx'
import { Fields } from './value.tsx'

interface Props {
  detail: ConsoleDetail
  values: Record<string, string>
  path: string
}

interface Open {
  title: string
  operation: string
  kind: 'update' | 'remove' | 'action'
}

export function DetailPage({ detail, values, path }: Props) {
  const [open, setOpen] = useState<Open | null>(null)
  const [answer, setAnswer] = useState<any>(null)
  const input = { path: values }
  const loaded = useLoaded(async () => await call(detail.operation, input), path)
  const item = loaded.value?.data
  const buttons: Open[] = [
    { title: 'Edit', operation: detail.update, kind: 'update' as const },
    ...detail.actions.map((action) => ({ ...action, kind: 'action' as const })),
    { title: 'Delete', operation: detail.remove, kind: 'remove' as const },
  ].filter((button): button is Open => isAllowed(button.operation))
  if (loaded.failure !== null)
    return (
      <section>
        <header>
          <h1>{detail.title}</h1>
        </header>
        <Problem failure={loaded.failure} retry={loaded.reload} />
      </section>
    )
  if (item === undefined) return <Skeleton rows={8} />
  const related = detail.related.filter(({ path }) =>
    isAllowed(model.lists.find((list) => list.path === path)?.operation ?? null),
  )
  return (
    <section aria-busy={loaded.loading}>
      <header>
        <h1>{item.name ?? item.title ?? item.email ?? detail.title}</h1>
        <div class="actions">
          {buttons.map((button) => (
            <button key={button.operation} type="button" class={button.kind} onClick={() => setOpen(button)}>
              {button.title}
            </button>
          ))}
        </div>
      </header>
      {related.length > 0 && (
        <nav class="related" aria-label="Related">
          {related.map(({ path, title, filter }) => (
            <a key={path} href={href(fill(path, values), filter === null ? {} : { [filter]: item.id })}>
              {title}
            </a>
          ))}
        </nav>
      )}
      <Fields fields={detail.fields} item={item} />
      {answer !== null && (
        <>
          <h2>Answer</h2>
          <pre tabIndex={0}>{JSON.stringify(answer, null, 2)}</pre>
        </>
      )}
      <details>
        <summary>JSON</summary>
        <pre tabIndex={0}>{JSON.stringify(item, null, 2)}</pre>
      </details>
      <Code operation={detail.operation} input={input} />
      {open !== null && (
        <FormDialog
          title={open.title}
          operation={open.operation}
          values={values}
          item={open.kind === 'update' ? item : null}
          etag={loaded.value!.etag}
          onClose={() => setOpen(null)}
          onDone={(result) => {
            const above = path.slice(0, path.lastIndexOf('/'))
            if (open.kind === 'remove' && listAt(above) !== null) return navigate(href(above))
            setAnswer(open.kind === 'action' && result?.id !== item.id ? result : null)
            loaded.reload()
          }}
        />
      )}
    </section>
  )
}
