// A session as a conversation: the other sessions at the side, questions, answers while they are generated,
// and the passages that they cite.
import type { ComponentChild } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { Icon } from '../icon.tsx'
import { detailAt } from '../model.ts'
import { useName } from '../names.ts'
import { href, navigate, type PageProps } from '../router.ts'
import { call, failureOf, isAllowed, type Failure } from '../session.ts'
import { asDrawer, Problem, Skeleton, useLoaded, usePolling } from '../ui.tsx'
import { Fields, State, Time, useCopy } from '../value.tsx'
import { Conversation, type Citation, type Message } from './conversation.ts'
import { Markdown } from './markdown.tsx'

export function ChatPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  const without = [...detail.fields.map(({ name }) => name), '/ai/sessions/{id}/messages']
  return (
    <DetailPage detail={detail} values={values} path={path} without={without}>
      {(session, reload) => (
        <>
          <Chat session={session} reload={reload} />
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
    let frame = 0
    // Words arrive faster than a screen shows them.
    conversation.onChange = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => render((n) => n + 1))
    }
    void conversation.load()
    // An answer that is generated goes on while another page is shown.
    return () => {
      cancelAnimationFrame(frame)
      conversation.onChange = () => {}
    }
  }, [])
  const { isBusy, answer, running } = conversation
  usePolling(answer === null && (isBusy || running !== undefined), () => void conversation.load())
  return conversation
}

interface Opened {
  citation: Citation
  number: number
  bases: string[]
}

function Chat({ session, reload }: { session: any; reload: () => void }) {
  const conversation = useConversation(session.id)
  const { isBusy, failure, messages } = conversation
  const [wasBusy, setWasBusy] = useState(false)
  const [opened, setOpened] = useState<Opened | null>(null)
  const opener = useRef<Element | null>(null)
  useEffect(() => {
    if (wasBusy && !isBusy && failure === null) reload()
    setWasBusy(isBusy)
  }, [isBusy])
  return (
    <div class={`drive-body chat${opened === null ? '' : ' with-panel'}`}>
      <Sessions session={session} />
      <div class="talk">
        {messages === null ? (
          <div class="log">{failure === null && <Skeleton rows={8} />}</div>
        ) : (
          <Log
            {...{ conversation, session }}
            onOpen={(each) => {
              opener.current = document.activeElement
              setOpened(each)
            }}
          />
        )}
        {failure !== null && failure.message !== messages?.at(-1)?.error?.message && (
          <Problem
            failure={failure}
            retry={failure.code === null ? () => void conversation.retry() : undefined}
          />
        )}
        {session.status === 'active' ? (
          isAllowed('streamChat') && <Ask {...{ conversation, session, reload }} />
        ) : (
          <p class="soft">This session is archived and takes no messages. Edit its status to go on.</p>
        )}
      </div>
      {opened !== null && (
        <Source
          {...opened}
          onClose={() => {
            setOpened(null)
            ;(opener.current as HTMLElement | null)?.focus()
          }}
        />
      )}
    </div>
  )
}

const listed = 50

/** The sessions beside this one, and a new one about the same documents. A drawer on narrow screens. */
function Sessions({ session }: { session: any }) {
  const [failure, setFailure] = useState<Failure | null>(null)
  const { project_id: projectId, knowledge_base_ids: bases } = session
  const inside = projectId === null ? {} : { project_id: projectId }
  const query = { ...inside, sort: 'updated_at', order: 'desc', limit: listed }
  // A title comes with the first answer.
  const loaded = useLoaded<any[]>(
    async () => (await call('listSessions', { query })).data.data,
    `${session.id} ${session.title}`,
  )
  async function begin(): Promise<void> {
    try {
      const body = { ...inside, knowledge_base_ids: bases }
      navigate(href(`/ai/sessions/${(await call('createSession', { body })).data.id}`))
    } catch (error) {
      setFailure(failureOf(error))
    }
  }
  return (
    <details class="places" {...asDrawer}>
      <summary>
        <Icon name="chat" /> Chats
      </summary>
      <nav aria-label="Chats">
        {isAllowed('createSession') && (
          <button type="button" onClick={() => void begin()}>
            New chat
          </button>
        )}
        {failure !== null && <Problem failure={failure} />}
        {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
        {loaded.value?.map(({ id, title }) => (
          <a
            key={id}
            class="node"
            href={href(`/ai/sessions/${id}`)}
            aria-current={id === session.id ? 'page' : undefined}
          >
            <bdi>{title ?? 'New chat'}</bdi>
          </a>
        ))}
      </nav>
    </details>
  )
}

interface LogProps {
  conversation: Conversation
  session: any
  onOpen: (opened: Opened) => void
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
  const actionsOf = ({ id, role, content, model, created_at: at }: Message, i: number) => (
    <div class="actions">
      {role === 'assistant' && content !== '' && <Copy text={content} />}
      {isChangeable && role === 'user' && isAllowed('updateMessage') && (
        <button type="button" class="plain" onClick={() => setEditing(id)}>
          Edit question
        </button>
      )}
      {isChangeable && i === shown.length - 1 && (
        <button type="button" class="plain" onClick={() => void conversation.regenerate()}>
          {role === 'user' ? 'Generate an answer' : 'Regenerate'}
        </button>
      )}
      {at !== '' && (
        <small>
          {model !== null && `${model} · `}
          <Time value={at} />
        </small>
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
          <li key={message.id} class={message.role} data-status={message.status}>
            {editing === message.id ? (
              <Edit {...{ conversation, message }} onClose={() => setEditing(null)} />
            ) : (
              <>
                <Entry {...{ message, onOpen }} />
                {message.status !== 'in_progress' && actionsOf(message, i)}
              </>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}

function Copy({ text }: { text: string }) {
  const { said = 'Copy', ...handlers } = useCopy(text)
  return (
    <button type="button" class="plain" {...handlers}>
      {said}
    </button>
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
    <div class="hint">
      <h2>What would you like to know?</h2>
      <p class="soft">
        {bases.length > 0 ? (
          'Answers cite the documents of '
        ) : (
          <>
            To get answers from your documents, add them to a{' '}
            <a href={href('/ai/knowledge')}>knowledge base</a>, and choose it here by Edit.
          </>
        )}
        {bases.map((id, i) => (
          <>
            {i > 0 && ', '}
            <KnowledgeBase id={id} />
          </>
        ))}
      </p>
    </div>
  )
}

const KnowledgeBase = ({ id }: { id: string }) => <a href={href(`/ai/knowledge/${id}`)}>{useName(id)}</a>

/**
 * The citation of each number in the text. An answer numbers the passages of its prompt, and `citations` are
 * in the order in which it names them. If some are missing, such as those of others, no number is known.
 */
function sourcesIn({ content, citations, status }: Message): Map<number, number> {
  const numbers = [...content.matchAll(/\[(\d{1,3}(?:[ ,]+\d{1,3})*)\]/g)].flatMap(([, each]) =>
    each.split(',').map(Number),
  )
  const named = [...new Set(numbers)]
  const isKnown = status === 'in_progress' || named.length === citations.length
  return new Map(isKnown ? named.slice(0, citations.length).map((each, i) => [each, i]) : [])
}

function Entry({ message, onOpen }: { message: Message; onOpen: LogProps['onOpen'] }) {
  const { role, content, status, citations, searched, error } = message
  if (role !== 'assistant') return <p class="text">{content}</p>
  const open = (i: number): void =>
    onOpen({ citation: citations[i], number: i + 1, bases: searched?.knowledge_base_ids ?? [] })
  const sources = sourcesIn(message)
  const cite = (source: number): ComponentChild => {
    const i = sources.get(source)
    return i === undefined ? null : (
      <button
        type="button"
        class="plain cite"
        aria-label={`Source ${i + 1}`}
        title={citations[i].name}
        onClick={() => open(i)}
      >
        {i + 1}
      </button>
    )
  }
  return (
    <>
      <Markdown text={content} cite={cite} sources={sources.size} />
      {error !== null && <p class="error">{error.message}</p>}
      {status === 'in_progress' ? (
        <span class="typing" role="status" aria-label="The answer is generated" />
      ) : (
        status !== 'completed' && <State value={status} />
      )}
      {citations.length > 0 && (
        <ol class="sources" aria-label="Sources">
          {citations.map(({ name, page, stale }, i) => (
            <li key={i}>
              <button type="button" onClick={() => open(i)}>
                {i + 1} <bdi>{name}</bdi>
                {page !== null && `, page ${page}`}
                {stale && ' (changed since)'}
              </button>
            </li>
          ))}
        </ol>
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

interface AskProps {
  conversation: Conversation
  session: any
  reload: () => void
}

function Ask({ conversation, session, reload }: AskProps) {
  const [draft, setDraft] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const { isBusy, running, messages } = conversation
  const isNew = messages?.length === 0
  useEffect(() => {
    if (isNew) field.current!.focus()
  }, [isNew])
  async function send(): Promise<void> {
    if (conversation.isBusy || draft.trim() === '') return
    setDraft('')
    field.current!.focus()
    if (!(await conversation.send(draft))) setDraft((typed) => typed || draft)
  }
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder="Ask a question"
        title="Enter sends, Shift + Enter begins a line"
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={sendOnEnter}
      />
      <Models {...{ conversation, session, reload }} />
      {isBusy && isAllowed('cancelMessage') ? (
        <button type="button" disabled={!running} onClick={() => void conversation.stop()}>
          Stop
        </button>
      ) : (
        <button type="submit" class="main" disabled={isBusy || draft.trim() === ''}>
          Send
        </button>
      )}
    </form>
  )
}

/** The model of the session, which the next answers have. */
function Models({ conversation, session, reload }: AskProps) {
  const isPossible = isAllowed('listModels') && isAllowed('updateSession')
  const loaded = useLoaded<any[]>(
    async () => (isPossible ? (await call('listModels', { query: { limit: 100 } })).data.data : []),
    '',
  )
  const models = loaded.value ?? []
  const known = models.some(({ id }) => id === session.model) || session.model === null
  async function choose(model: string): Promise<void> {
    const input = { path: { id: session.id }, body: { model: model || null } }
    await conversation.within(() => call('updateSession', input))
    reload()
  }
  return (
    <select
      aria-label="Model"
      disabled={!isPossible}
      value={session.model ?? ''}
      onChange={(event) => void choose(event.currentTarget.value)}
    >
      <option value="">{models.find((each) => each.is_default)?.id ?? 'Model'} (default)</option>
      {!known && <option>{session.model}</option>}
      {models.map(({ id }) => (
        <option key={id}>{id}</option>
      ))}
    </select>
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
      class="edit"
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
/** In pixels: what the panel shows before a quote. */
const shownBefore = 120

interface SourceProps extends Opened {
  onClose: () => void
}

/** The cited passage in its document. Beside the conversation, or over it on narrow screens. */
function Source({ citation, number, bases, onClose }: SourceProps) {
  const { document_id: id, file_id: fileId, name, page, quote } = citation
  const heading = useRef<HTMLHeadingElement>(null)
  const mark = useRef<HTMLElement>(null)
  const panel = useRef<HTMLElement>(null)
  const loaded = useLoaded(async () => await readDocument(id, bases), id)
  const found = loaded.loading ? null : loaded.value
  const excerpt = found?.text == null ? null : excerptOf(found.text, citation)
  useEffect(() => heading.current!.focus(), [citation])
  // Only the panel scrolls, so that the page does not move.
  useLayoutEffect(() => {
    panel.current!.scrollTop = mark.current!.offsetTop - shownBefore
  }, [citation, found])
  return (
    <aside
      ref={panel}
      class="panel"
      aria-label="Source"
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
    >
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {number} <bdi>{name}</bdi>
        </h2>
        <button type="button" class="plain" aria-label="Close the source" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {page !== null && <p class="soft">Page {page}</p>}
      {found !== null && excerpt === null && (
        <p class="soft">The document has changed or was deleted since. This was quoted:</p>
      )}
      <p class="text">
        {excerpt?.before}
        <mark ref={mark}>{quote}</mark>
        {excerpt?.after}
      </p>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      <p class="actions">
        {found?.base != null && (
          <a href={href(`/ai/knowledge/${found.base}/documents/${id}`)}>Open the document</a>
        )}
        {fileId !== null && <a href={href(`/storage/files/${fileId}`)}>Open the file</a>}
      </p>
    </aside>
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
