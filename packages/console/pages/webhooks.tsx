// One delivery of a webhook: the request, and what the endpoint answered to each attempt.
import { DetailPage } from '../detail.tsx'
import { detailAt } from '../model.ts'
import type { PageProps } from '../router.ts'
import { Time } from '../value.tsx'

export function DeliveryPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage detail={detail} values={values} path={path} without={['attempts', 'request']}>
      {({ attempts, request }) => (
        <>
          <h2>Attempts</h2>
          {attempts.length === 0 && <p class="empty">No request has been sent yet.</p>}
          <ol class="attempts" reversed>
            {attempts.toReversed().map((attempt: any) => (
              <li key={attempt.started_at}>
                <Attempt {...attempt} />
              </li>
            ))}
          </ol>
          {request !== null && (
            <>
              <h2>Request</h2>
              <pre tabIndex={0}>
                POST {request.url}
                {Object.entries(request.headers).map(([name, value]) => `\n${name}: ${value}`)}
                {`\n\n${JSON.stringify(request.body, null, 2)}`}
              </pre>
            </>
          )}
        </>
      )}
    </DetailPage>
  )
}

interface AttemptProps {
  started_at: string
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
}

function Attempt({ started_at, duration_ms, response_status, response_body, error }: AttemptProps) {
  return (
    <>
      <p>
        <span class={`state ${error === null ? 'good' : 'bad'}`}>{response_status ?? 'no answer'}</span>{' '}
        <Time value={started_at} /> <span class="soft">{duration_ms} ms</span> {error}
      </p>
      {response_body !== null && response_body !== '' && <pre tabIndex={0}>{response_body}</pre>}
    </>
  )
}
