// The requests that the console sent since the page was loaded, as code.
import { useEffect, useState } from 'preact/hooks'
import { log, logChanges } from './session.ts'
import { Code } from './ui.tsx'

export function ApiLog() {
  const [sent, setSent] = useState(log)
  useEffect(() => {
    const update = (): void => setSent(log)
    logChanges.addEventListener('change', update)
    update()
    return () => logChanges.removeEventListener('change', update)
  }, [])
  return (
    <ol>
      {sent.map(({ operation, input, status, ms, times }, i) => (
        <li key={sent.length - i}>
          <Code operation={operation} input={input} isNamed>
            {' '}
            <span class={status !== null && status < 400 ? 'soft' : 'failed'}>
              {status ?? 'no answer'}
            </span>{' '}
            <small class="soft">
              {ms} ms{times > 1 && `, ${times} times`}
            </small>
          </Code>
        </li>
      ))}
    </ol>
  )
}
