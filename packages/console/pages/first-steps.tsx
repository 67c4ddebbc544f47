// The first steps of an account: a click takes each, and shows the requests that it sent.
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { href } from '../router.ts'
import { call, currentUserId, failureOf, isAllowed, isPossible } from '../session.ts'
import type { Failure, Input } from '../session.ts'
import { Code, Problem, useLoaded, useOnReady } from '../ui.tsx'

type Sent = { operation: string; input: Input }
/** Sends a request of a step. @returns the body of the answer. */
type Send = (operation: string, input: Input) => Promise<any>

interface Step {
  /** The limit of which something is used when the step is done; null: a product says so. */
  limit: string | null
  title: string
  /** The operations that it calls. */
  needs: string[]
  /** The label and an example of what a person enters; null for nothing. */
  asks?: [label: string, example: string]
  button: string
  take(send: Send, entered: string): Promise<ComponentChildren>
}

const text = 'The canteen opens at noon. On Fridays it closes at two.'
const pages = { success_url: `${location.origin}/console`, cancel_url: `${location.origin}/console` }

const steps: Step[] = [
  {
    limit: 'projects',
    title: 'Create a project',
    needs: ['createProject'],
    button: 'Create',
    async take(send) {
      const { id, name } = await send('createProject', { body: { name: 'My first project' } })
      return <a href={href(`/projects/${id}`)}>{name}</a>
    },
  },
  {
    limit: 'files',
    title: 'Upload a file',
    needs: ['uploadFile'],
    button: 'Upload a sample',
    async take(send) {
      const { id, name } = await send('uploadFile', { body: { file: new File([text], 'canteen.md') } })
      return <a href={href(`/storage/files/${id}`)}>{name}</a>
    },
  },
  {
    limit: 'knowledge_bases',
    title: 'Ask a question of a document',
    needs: ['createKnowledgeBase', 'createDocument', 'getDocument', 'createChat'],
    button: 'Ask about a sample',
    async take(send) {
      const { id } = await send('createKnowledgeBase', { body: { name: 'House' } })
      const document = { name: 'canteen.md', text, content_type: 'text/markdown' }
      let { id: documentId, status } = await send('createDocument', { path: { id }, body: document })
      const path = { id, document_id: documentId }
      for (let wait = 250; status !== 'ready' && status !== 'failed'; wait *= 1.5) {
        await new Promise((resolve) => setTimeout(resolve, wait))
        status = (await call('getDocument', { path })).data.status
      }
      const question = 'When does the canteen open?'
      const { message } = await send('createChat', { body: { message: question, knowledge_base_ids: [id] } })
      return (
        <>
          {question} <q>{message.content}</q>
        </>
      )
    },
  },
  {
    limit: 'webhook_endpoints',
    title: 'Add a webhook endpoint',
    needs: ['createWebhookEndpoint', 'testWebhookEndpoint'],
    asks: ['URL of your server', 'https://example.com/webhooks'],
    button: 'Send a test event',
    async take(send, url) {
      const { id } = await send('createWebhookEndpoint', { body: { url, event_types: ['*'] } })
      await send('testWebhookEndpoint', { path: { id } })
      return <a href={href(`/webhooks/endpoints/${id}`)}>The endpoint and its deliveries</a>
    },
  },
  {
    limit: null,
    title: 'Create a test order',
    needs: ['createProduct', 'createPrice', 'createCheckout', 'getTestClock'],
    button: 'Create a sample',
    async take(send) {
      const product = await send('createProduct', { body: { name: 'Poster' } })
      const price = { product_id: product.id, currency: 'eur', unit_amount: 1500 }
      const { id } = await send('createPrice', { body: price })
      const { url } = await send('createCheckout', { body: { items: [{ price_id: id }], ...pages } })
      return (
        <a href={url} target="_blank" rel="noreferrer">
          Pay with a test card
        </a>
      )
    },
  },
]

const dismissedKey = (): string => `platform-first-steps ${currentUserId()}`

/**
 * They are shown until all are done, or until the person dismisses them.
 * @param props.used how much of a limit is used.
 */
export function FirstSteps(props: {
  used: (limit: string) => number
  onDone: () => void
  onReady: () => void
}) {
  const { used, onDone, onReady } = props
  const shown = steps.filter(({ needs }) => needs.every(isAllowed) && isPossible(needs[0], {}))
  const [isDismissed, setIsDismissed] = useState(() => localStorage.getItem(dismissedKey()) !== null)
  const sells = shown.some(({ limit }) => limit === null) && isAllowed('listProducts')
  const sold = useLoaded(
    async () =>
      sells && !isDismissed
        ? (await call('listProducts', { query: { limit: 1 } })).data.data.length > 0
        : true,
    '',
  )
  const isDone = ({ limit }: Step): boolean => (limit === null ? sold.value === true : used(limit) > 0)
  const isLoaded = sold.value !== null || sold.failure !== null
  useOnReady(isLoaded, onReady)
  // Those that are shown stay when the last one is done.
  const wasShown = useRef(false)
  wasShown.current ||= isLoaded && !shown.every(isDone)
  if (isDismissed || !wasShown.current) return null
  return (
    <>
      <div class="heading">
        <h2>First steps</h2>
        <button
          type="button"
          class="plain"
          onClick={() => {
            localStorage.setItem(dismissedKey(), '1')
            setIsDismissed(true)
          }}
        >
          Dismiss
        </button>
      </div>
      <ol class="steps">
        {shown.map((step) => (
          <StepItem key={step.title} step={step} wasDone={isDone(step)} onDone={onDone} />
        ))}
      </ol>
    </>
  )
}

function StepItem(props: { step: Step; wasDone: boolean; onDone: () => void }) {
  const { step, wasDone, onDone } = props
  const [sent, setSent] = useState<Sent[]>([])
  const [result, setResult] = useState<ComponentChildren>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  async function take(form: HTMLFormElement): Promise<void> {
    const entered = String(new FormData(form).get('entered') ?? '').trim()
    setIsBusy(true)
    setSent([])
    setFailure(null)
    try {
      const send: Send = async (operation, input) => {
        setSent((before) => [...before, { operation, input }])
        return (await call(operation, input)).data
      }
      setResult(await step.take(send, entered))
      onDone()
    } catch (error) {
      setFailure(failureOf(error))
    }
    setIsBusy(false)
  }
  const isDone = wasDone || result !== null
  return (
    <li class={isDone ? 'done' : ''}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void take(event.currentTarget)
        }}
      >
        <strong>{step.title}</strong>
        {isDone ? (
          <span class="soft">done</span>
        ) : (
          <>
            {step.asks !== undefined && (
              <input
                name="entered"
                type="url"
                required
                aria-label={step.asks[0]}
                placeholder={step.asks[1]}
              />
            )}
            <button type="submit" disabled={isBusy}>
              {step.button}
            </button>
          </>
        )}
      </form>
      {failure !== null && <Problem failure={failure} />}
      {result !== null && <p>{result}</p>}
      {sent.map((each, i) => (
        <Code key={i} {...each} isNamed />
      ))}
    </li>
  )
}
