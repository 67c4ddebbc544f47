// A session as a conversation: questions, answers while they are generated, and the passages that they cite.
// What people, models and documents write is shown as text.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { detailAt } from '../model.ts'
import { href, type PageProps } from '../router.ts'
import { call, failureOf, isAllowed } from '../session.ts'
import { Dialog, Problem, Skeleton, useLoaded, usePolling } from '../ui.tsx'
import { Fields, Id, State, Time } from '../value.tsx'
import { Conversation, type Citation, type Message } from './conversation.ts'

export function ChatPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  const without = [...detail.fields.map(({ name }) => name), '/ai/sessions/{id}/messages']
  return (
    <DetailPage detail={detail} values={values} path={path} without={without}>
      {(session, reload) => (
        <>
          <Chat session={session} onAnswered={reload} />
          <details>
            <summary>Details</summary>
            <Fields fields={detail.fields} item={session} />
          </details>
        </>
      )}
    </DetailPage>
  )
}

function useConversation(sessionId: string): Conversation {
  const [conversation] = useState(() => new Conversation(sessionId))
  const [, render] = useState(0)
  useEffect(() => {
    conversation.onChange = () => render((n) => n + 1)
    void conversation.load()
    // An answer that is generated goes on while another page is shown.
    return () => {
      conversation.onChange = () => {}
    }
  }, [])
  const { isBusy, answer, running } = conversation
  usePolling(answer === null && (isBusy || running !== undefined), () => void conversation.load())
  return conversation
}

function Chat({ session, onAnswered }: { session: any; onAnswered: () => void }) {
  const conversation = useConversation(session.id)
  const { isBusy, failure, messages } = conversation
  const [wasBusy, setWasBusy] = useState(false)
  const [opened, setOpened] = useState<{ citation: Citation; bases: string[] } | null>(null)
  useEffect(() => {
    if (wasBusy && !isBusy && failure === null) onAnswered()
    setWasBusy(isBusy)
  }, [isBusy])
  if (messages === null)
    return failure === null ? (
      <Skeleton rows={8} />
    ) : (
      <Problem failure={failure} retry={() => void conversation.retry()} />
    )
  return (
    <div class="chat">
      <Log {...{ conversation, session }} onOpen={(citation, bases) => setOpened({ citation, bases })} />
      {session.status === 'active' ? (
        isAllowed('streamChat') && <Ask conversation={conversation} />
      ) : (
        <p class="soft">This session is archived and takes no messages. Edit its status to go on.</p>
      )}
      {failure !== null && failure.message !== messages.at(-1)?.error?.message && (
        <Problem
          failure={failure}
          retry={failure.code === null ? () => void conversation.retry() : undefined}
        />
      )}
      {opened !== null && <Passage {...opened} onClose={() => setOpened(null)} />}
    </div>
  )
}

interface LogProps {
  conversation: Conversation
  session: any
  onOpen: (citation: Citation, bases: string[]) => void
}

/** In pixels: so near to the end it is followed. */
const nearEnd = 48
const belowEnd = (log: HTMLElement): number => log.scrollHeight - log.scrollTop - log.clientHeight

function Log({ conversation, session, onOpen }: LogProps) {
  const { isBusy, cursor } = conversation
  const [editing, setEditing] = useState<string | null>(null)
  const log = useRef<HTMLDivElement>(null)
  const below = useRef(0)
  const shown = shownIn(conversation)
  const scroll = (pixels: number): void => {
    log.current!.scrollTop = log.current!.scrollHeight - log.current!.clientHeight - pixels
  }
  // Earlier messages do not move what is read, a new question is shown, and the end is followed.
  useLayoutEffect(() => scroll(below.current), [shown[0]?.id])
  useLayoutEffect(() => scroll(0), [conversation.asked === null])
  useLayoutEffect(() => {
    if (editing === null && below.current < nearEnd) scroll(0)
    below.current = belowEnd(log.current!)
  })
  const isChangeable = !isBusy && session.status === 'active' && isAllowed('regenerateMessage')
  const actionsOf = ({ id, role }: Message, i: number) => (
    <div class="actions">
      {role === 'user' && isAllowed('updateMessage') && (
        <button type="button" onClick={() => setEditing(id)}>
          Edit question
        </button>
      )}
      {i === shown.length - 1 && (
        <button type="button" onClick={() => void conversation.regenerate()}>
          {role === 'user' ? 'Generate an answer' : 'Regenerate'}
        </button>
      )}
    </div>
  )
  return (
    <div
      class="log"
      ref={log}
      role="log"
      aria-label="Messages"
      aria-busy={isBusy}
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        below.current = belowEnd(currentTarget)
      }}
    >
      {cursor !== null && (
        <button type="button" onClick={() => void conversation.loadEarlier()}>
          Earlier messages
        </button>
      )}
      {shown.length === 0 && <Empty bases={session.knowledge_base_ids} />}
      <ol>
        {shown.map((message, i) => (
          <li key={message.id} class={message.role}>
            {editing === message.id ? (
              <Edit {...{ conversation, message }} onClose={() => setEditing(null)} />
            ) : (
              <Entry {...{ message, onOpen }} />
            )}
            {isChangeable && editing !== message.id && actionsOf(message, i)}
          </li>
        ))}
      </ol>
    </div>
  )
}

/** The messages, with the question that is on its way and the answer as far as it has arrived. */
function shownIn({ messages, asked, answer, isBusy, lastId }: Conversation): Message[] {
  const isAsked = asked !== null && asked.after === lastId
  const question = { ...empty, id: 'question', role: 'user' as const, content: asked?.text ?? '' }
  const stored = messages!.map((message) => (message.id === answer?.id ? answer : message))
  const known = isAsked ? [...stored, question] : stored
  const isMissing = isBusy && known.at(-1)?.status !== 'in_progress' && known.at(-1)?.id !== answer?.id
  return isMissing ? [...known, answer ?? { ...empty, id: 'answer' }] : known
}

const empty: Omit<Message, 'id'> = {
  role: 'assistant',
  content: '',
  status: 'in_progress',
  model: null,
  citations: [],
  searched: null,
  error: null,
  created_at: '',
}

function Empty({ bases }: { bases: string[] }) {
  return (
    <p class="empty">
      Ask the first question below.{' '}
      {bases.length > 0 ? (
        'Answers cite the documents of '
      ) : (
        <>
          To have documents cited, add them to a <a href={href('/ai/knowledge')}>knowledge base</a> and name
          it in this session by Edit.
        </>
      )}
      {bases.map((id, i) => (
        <>
          {i > 0 && ', '}
          <Id value={id} />
        </>
      ))}
    </p>
  )
}

function Entry({ message, onOpen }: { message: Message; onOpen: LogProps['onOpen'] }) {
  const { role, content, status, model, citations, searched, error, created_at: at } = message
  return (
    <>
      <div class="by">
        <strong>{role === 'assistant' ? 'Answer' : 'Question'}</strong>
        {role === 'assistant' && <State value={status} />}
        <span class="soft">
          {model} {at !== '' && <Time value={at} />}
        </span>
      </div>
      {(content !== '' || status === 'in_progress') && <p class="text">{content}</p>}
      {error !== null && <p class="error">{error.message}</p>}
      {citations.length > 0 && (
        <ul class="citations" aria-label="Citations">
          {citations.map((citation, i) => (
            <li key={i}>
              <button type="button" onClick={() => onOpen(citation, searched?.knowledge_base_ids ?? [])}>
                [{i + 1}] {citation.name}
                {citation.page !== null && `, page ${citation.page}`}
                {citation.stale && ' (changed since)'}
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Enter sends, Shift and Enter begin a line. */
function sendOnEnter(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  ;(event.target as HTMLTextAreaElement).form!.requestSubmit()
}

function Ask({ conversation }: { conversation: Conversation }) {
  const [draft, setDraft] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const { isBusy, running } = conversation
  async function send(): Promise<void> {
    if (conversation.isBusy || draft.trim() === '') return
    setDraft('')
    field.current!.focus()
    if (!(await conversation.send(draft))) setDraft((typed) => typed || draft)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <textarea
        ref={field}
        rows={3}
        aria-label="Message"
        placeholder="Ask a question. Shift+Enter begins a line."
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={sendOnEnter}
      />
      <div class="actions">
        <button type="submit" class="main" disabled={isBusy}>
          Send
        </button>
        {isAllowed('cancelMessage') && (
          <button type="button" disabled={!isBusy || !running} onClick={() => void conversation.stop()}>
            Stop
          </button>
        )}
      </div>
    </form>
  )
}

interface EditProps {
  conversation: Conversation
  message: Message
  onClose: () => void
}

function Edit({ conversation, message, onClose }: EditProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current!.focus(), [])
  async function save(): Promise<void> {
    const content = field.current!.value
    if (content.trim() !== '') await conversation.edit(message.id, content, onClose)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <textarea
        ref={field}
        rows={3}
        aria-label="Edited message"
        defaultValue={message.content}
        onKeyDown={sendOnEnter}
      />
      <p class="soft">The messages after it are deleted, and a new answer is generated.</p>
      <div class="actions">
        <button type="submit" class="main">
          Save and answer
        </button>
        <button type="button" onClick={onClose}>
          Discard
        </button>
      </div>
    </form>
  )
}

/** In characters: what is shown of a document before and after a quote. */
const context = 600

function Passage(props: { citation: Citation; bases: string[]; onClose: () => void }) {
  const { citation, bases, onClose } = props
  const loaded = useLoaded(async () => await readDocument(citation.document_id, bases), citation.document_id)
  const found = loaded.value
  const excerpt = found?.text == null ? null : excerptOf(found.text, citation)
  return (
    <Dialog title={citation.name} onClose={onClose}>
      {citation.page !== null && <p class="soft">Page {citation.page}</p>}
      {found !== null && excerpt === null && (
        <p class="soft">The document has changed or was deleted since. This was quoted:</p>
      )}
      <p class="text passage" tabIndex={0}>
        {excerpt?.before}
        <mark>{citation.quote}</mark>
        {excerpt?.after}
      </p>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {found?.base != null && (
        <a href={href(`/ai/knowledge/${found.base}/documents/${citation.document_id}`)}>Open the document</a>
      )}
    </Dialog>
  )
}

interface Found {
  base: string | null
  text: string | null
}

/** A citation does not say in which of the knowledge bases that were searched its document is. */
async function readDocument(documentId: string, bases: string[]): Promise<Found> {
  for (const base of bases)
    try {
      const { data } = await call('getDocumentText', { path: { id: base, document_id: documentId } })
      return { base, text: data.text }
    } catch (error) {
      if (!['NOT_FOUND', 'FORBIDDEN'].includes(failureOf(error).code!)) throw error
    }
  return { base: null, text: null }
}

/** Null if the quote is no longer in the text. */
function excerptOf(
  text: string,
  { quote, start_index: at }: Citation,
): { before: string; after: string } | null {
  const start = text.startsWith(quote, at) ? at : text.indexOf(quote)
  if (start < 0) return null
  const end = start + quote.length
  const [first, last] = [Math.max(0, start - context), Math.min(text.length, end + context)]
  return {
    before: (first > 0 ? '…' : '') + text.slice(first, start),
    after: text.slice(end, last) + (last < text.length ? '…' : ''),
  }
}
